/* config.h — a configuration: a kernel template and an integer for each of its parameters.
 *
 * Text form: "simt BM=128 BN=128 BK=16 ..." with the parameters in the template's order. It is the key in the
 * database. Values are integers, checked against the template's rules before they reach a compiler or a GPU.
 */
#ifndef GT_CONFIG_H
#define GT_CONFIG_H

#include "status.h"
#include <stdbool.h>
#include <stdint.h>

#define CONFIG_PARAMS_MAX 32
#define CONFIG_TEXT_MAX   512

struct template;

struct config {
    const struct template *template;  /* from the table of templates; never owned */
    int32_t value[CONFIG_PARAMS_MAX]; /* in the order of template->params; unused ones are 0 */
};

/* Errors: E_INPUT: unknown template or parameter, missing or repeated parameter, value outside its range. */
enum status config_parse(const char *text, struct config *config);

/* Buffer of CONFIG_TEXT_MAX bytes. config_parse(config_format(c)) == c. */
void config_format(const struct config *config, char *text);

/* For people: without the parameters that have their least value. Buffer of CONFIG_TEXT_MAX bytes.
 * config_parse_brief(config_brief(c)) == c; it also reads the whole text. */
void config_brief(const struct config *config, char *text);
enum status config_parse_brief(const char *text, struct config *config);

/* The value of a parameter by name; 0 if the template lacks it. */
int config_get(const struct config *config, const char *name);

/* Set a parameter by name; false if the template lacks it. */
bool config_set(struct config *config, const char *name, int value);

bool config_equal(const struct config *x, const struct config *y);

/* XXH64 of the text form; equal configurations hash equally on every machine. */
uint64_t config_hash(const struct config *config);

/* True if x and y are compiled from the same text: same template and compile-time values (launch-time
 * parameters such as SPLIT_K and GROUP may differ). */
bool config_same_kernel(const struct config *x, const struct config *y);

#endif
