/* predict.h — the main job without the GPU: legal space, ranking by the model, real compilation; stores the
 * model's best with the compiler's facts as predicted.
 */
#ifndef GT_PREDICT_H
#define GT_PREDICT_H

#include "session.h"

/* Predicts every problem of the session on the named GPU; session->workers is not used. A problem that has a
 * measured winner keeps it. Errors: E_INTERRUPTED, E_COMPILER, those of the database. */
enum status predict_run(struct session *session, const struct gpu *gpu);

#endif
