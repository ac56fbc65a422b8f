-- version_2_rows.sql — migrates version 1 to version 2, second part: copies every row with a new hash, and
-- drops the old tables.
--
-- A row whose hash does not match its content keeps the old hash, so that the damage is found afterwards as
-- it was before. A reference to a missing row becomes one to a negative id, which is missing, too.

INSERT INTO gpus (id, hash, name, arch, sm_count)
SELECT id, hash, name, arch, sm_count
FROM old_gpus
ORDER BY id;

INSERT INTO gpu_rates (figures_id, name, value)
SELECT id, 'fp32_tflops', fp32_tflops
FROM old_gpu_figures
WHERE fp32_tflops <> 0
UNION ALL
SELECT id, 'memory_gb_per_s', memory_gb_per_s
FROM old_gpu_figures
WHERE memory_gb_per_s <> 0;

INSERT INTO gpu_figures (
    id, hash, gpu_id,
    short_name, threads_per_sm, blocks_per_sm, registers_per_sm, smem_per_sm_bytes, smem_per_block_bytes,
    smem_reserved_bytes, l2_bytes, memory_bytes, clock_mhz, source
)
SELECT
    f.id,
    CASE WHEN f.hash = content_hash(g.hash,
        f.short_name, f.threads_per_sm, f.blocks_per_sm, f.registers_per_sm, f.smem_per_sm_bytes,
        f.smem_per_block_bytes, f.smem_reserved_bytes, f.l2_bytes, f.memory_bytes, f.clock_mhz, f.memory_gb_per_s,
        f.fp32_tflops, f.source)
    THEN content_hash(g.hash,
        f.short_name, f.threads_per_sm, f.blocks_per_sm, f.registers_per_sm, f.smem_per_sm_bytes,
        f.smem_per_block_bytes, f.smem_reserved_bytes, f.l2_bytes, f.memory_bytes, f.clock_mhz, f.source,
        (SELECT group_concat(rate, ' ')
         FROM (SELECT rate_text(name, value) AS rate FROM gpu_rates WHERE figures_id = f.id ORDER BY name)))
    ELSE f.hash END,
    f.gpu_id,
    f.short_name, f.threads_per_sm, f.blocks_per_sm, f.registers_per_sm, f.smem_per_sm_bytes, f.smem_per_block_bytes,
    f.smem_reserved_bytes, f.l2_bytes, f.memory_bytes, f.clock_mhz, f.source
FROM old_gpu_figures f
LEFT JOIN gpus g ON g.id = f.gpu_id
ORDER BY f.id;

INSERT INTO problems (id, hash, text, type, op, epilogue, m, n, k, batch)
SELECT id, hash, text, substr(text, 1, instr(text, ':') - 1), substr(text, instr(text, ':') + 1, 2), '', m, n, k, batch
FROM old_problems
ORDER BY id;

INSERT INTO runs (
    id, hash, gpu_id, figures_id,
    gpu_uuid, driver, nvrtc, cublas, power_limit_w, cold, protocol, seed, command, nonce, started_us, ended_us, how
)
SELECT
    r.id,
    CASE WHEN r.hash = content_hash(g.hash, o.hash,
        r.gpu_uuid, r.driver, r.nvrtc, r.cublas, r.power_limit_w, r.cold, r.protocol, r.seed, r.command, r.nonce,
        r.started_us)
    THEN content_hash(g.hash, f.hash,
        r.gpu_uuid, r.driver, r.nvrtc, r.cublas, r.power_limit_w, r.cold, r.protocol, r.seed, r.command, r.nonce,
        r.started_us)
    ELSE r.hash END,
    r.gpu_id, r.figures_id,
    r.gpu_uuid, r.driver, r.nvrtc, r.cublas, r.power_limit_w, r.cold, r.protocol, r.seed, r.command, r.nonce,
    r.started_us, r.ended_us, r.how
FROM old_runs r
LEFT JOIN gpus g ON g.id = r.gpu_id
LEFT JOIN old_gpu_figures o ON o.id = r.figures_id
LEFT JOIN gpu_figures f ON f.id = r.figures_id
ORDER BY r.id;

-- A configuration becomes one row for each kernel that it was compiled to: what the compiler sees depends on
-- op and architecture. migrated_kernel(template_hash, text, op, arch) is the hash of that kernel if it is
-- unchanged, else the old template_hash, which no kernel has.
CREATE TABLE old_used (
    config_id INTEGER, op TEXT, arch INTEGER,
    kernel_hash INTEGER, hash BLOB, new_id INTEGER,
    PRIMARY KEY (config_id, op, arch)
) WITHOUT ROWID;

INSERT OR IGNORE INTO old_used (config_id, op, arch)
SELECT DISTINCT u.config_id, p.op, g.arch
FROM (
    SELECT gpu_id, problem_id, config_id FROM old_trials
    UNION ALL
    SELECT gpu_id, problem_id, config_id FROM old_decisions WHERE config_id IS NOT NULL
    UNION ALL
    SELECT d.gpu_id, d.problem_id, e.config_id FROM old_decision_runners e JOIN old_decisions d ON d.id = e.decision_id
    UNION ALL
    SELECT r.gpu_id, a.problem_id, a.config_id FROM old_attempts a JOIN old_runs r ON r.id = a.run_id
) u
JOIN problems p ON p.id = u.problem_id
JOIN gpus g ON g.id = u.gpu_id;

INSERT INTO old_used (config_id, op, arch)
SELECT id, '', 0 FROM old_configs WHERE id NOT IN (SELECT config_id FROM old_used);

UPDATE old_used
SET kernel_hash = (SELECT migrated_kernel(c.template_hash, c.text, op, arch) FROM old_configs c WHERE c.id = config_id);

UPDATE old_used
SET hash = (
    SELECT CASE WHEN c.hash = content_hash(c.template, c.template_hash, c.schema_hash, c.text)
           THEN content_hash(c.template, kernel_hash, c.schema_hash, c.text)
           ELSE c.hash END
    FROM old_configs c
    WHERE c.id = config_id);

INSERT OR IGNORE INTO configs (hash, template, kernel_hash, schema_hash, text)
SELECT u.hash, c.template, u.kernel_hash, c.schema_hash, c.text
FROM old_used u
JOIN old_configs c ON c.id = u.config_id
ORDER BY u.config_id;

UPDATE old_used
SET new_id = (SELECT id FROM configs WHERE configs.hash = old_used.hash);

INSERT INTO attempts (id, run_id, problem_id, config_id, started_us)
SELECT a.id, a.run_id, a.problem_id, coalesce(u.new_id, -a.config_id), a.started_us
FROM old_attempts a
LEFT JOIN old_runs r ON r.id = a.run_id
LEFT JOIN problems p ON p.id = a.problem_id
LEFT JOIN gpus g ON g.id = r.gpu_id
LEFT JOIN old_used u ON u.config_id = a.config_id AND u.op = p.op AND u.arch = g.arch
ORDER BY a.id;

INSERT INTO trials (
    id, hash, run_id, gpu_id, problem_id, config_id,
    cold, started_us, ended_us, recovered_us, verdict, detail, registers, spill_bytes, static_smem_bytes,
    cubin_bytes, compile_ms, time_us, samples_us, worst_error, exact, sm_clock_mhz, memory_clock_mhz, power_w,
    temperature_c, throttle_reasons, wall_ms
)
SELECT
    t.id,
    CASE WHEN t.hash = content_hash(o.hash, p.hash, c.hash,
        t.cold, t.started_us, t.ended_us, t.recovered_us, t.verdict, t.detail, t.registers, t.spill_bytes,
        t.static_smem_bytes, t.cubin_bytes, t.compile_ms, t.time_us, t.samples_us, t.worst_error, t.exact,
        t.sm_clock_mhz, t.memory_clock_mhz, t.power_w, t.temperature_c, t.throttle_reasons, t.wall_ms)
    THEN content_hash(r.hash, p.hash, u.hash,
        t.cold, t.started_us, t.ended_us, t.recovered_us, t.verdict, t.detail, t.registers, t.spill_bytes,
        t.static_smem_bytes, t.cubin_bytes, t.compile_ms, t.time_us, t.samples_us, t.worst_error, t.exact,
        t.sm_clock_mhz, t.memory_clock_mhz, t.power_w, t.temperature_c, t.throttle_reasons, t.wall_ms)
    ELSE t.hash END,
    t.run_id, t.gpu_id, t.problem_id, coalesce(u.new_id, -t.config_id),
    t.cold, t.started_us, t.ended_us, t.recovered_us, t.verdict, t.detail, t.registers, t.spill_bytes,
    t.static_smem_bytes, t.cubin_bytes, t.compile_ms, t.time_us, t.samples_us, t.worst_error, t.exact,
    t.sm_clock_mhz, t.memory_clock_mhz, t.power_w, t.temperature_c, t.throttle_reasons, t.wall_ms
FROM old_trials t
LEFT JOIN old_runs o ON o.id = t.run_id
LEFT JOIN runs r ON r.id = t.run_id
LEFT JOIN problems p ON p.id = t.problem_id
LEFT JOIN gpus g ON g.id = t.gpu_id
LEFT JOIN old_configs c ON c.id = t.config_id
LEFT JOIN old_used u ON u.config_id = t.config_id AND u.op = p.op AND u.arch = g.arch
ORDER BY t.id;

INSERT INTO decision_runners (decision_id, runner, config_id)
SELECT e.decision_id, e.runner, coalesce(u.new_id, -e.config_id)
FROM old_decision_runners e
LEFT JOIN old_decisions d ON d.id = e.decision_id
LEFT JOIN problems p ON p.id = d.problem_id
LEFT JOIN gpus g ON g.id = d.gpu_id
LEFT JOIN old_used u ON u.config_id = e.config_id AND u.op = p.op AND u.arch = g.arch
ORDER BY e.decision_id, e.runner;

INSERT INTO decision_samples (decision_id, position, runner, round, time_us)
SELECT decision_id, position, runner, round, time_us
FROM old_decision_samples
ORDER BY decision_id, position;

INSERT INTO decisions (
    id, hash, run_id, gpu_id, problem_id, config_id,
    cold, decided_us, predicted, tied, exact, time_us, rival, anchor_us, ratio, ratio_low, ratio_high, rounds,
    trials, legal_count, model_rank, model_first16_share, registers, smem_bytes
)
SELECT
    d.id,
    CASE WHEN d.hash = content_hash(o.hash, p.hash, c.hash,
        (SELECT group_concat(hex(h), '')
         FROM (SELECT content_hash(e.runner, x.hash) AS h
               FROM old_decision_runners e JOIN old_configs x ON x.id = e.config_id
               WHERE e.decision_id = d.id
               ORDER BY e.runner)),
        (SELECT group_concat(hex(h), '')
         FROM (SELECT content_hash(e.position, e.runner, e.round, e.time_us) AS h
               FROM old_decision_samples e
               WHERE e.decision_id = d.id
               ORDER BY e.position)),
        d.cold, d.decided_us, d.predicted, d.tied, d.exact, d.time_us, d.anchor_us, d.ratio, d.ratio_low,
        d.ratio_high, d.rounds, d.trials, d.legal_count, d.model_rank, d.model_first16_share, d.registers,
        d.smem_bytes)
    THEN content_hash(r.hash, p.hash, u.hash,
        (SELECT group_concat(hex(h), '')
         FROM (SELECT content_hash(e.runner, x.hash) AS h
               FROM decision_runners e JOIN configs x ON x.id = e.config_id
               WHERE e.decision_id = d.id
               ORDER BY e.runner)),
        (SELECT group_concat(hex(h), '')
         FROM (SELECT content_hash(e.position, e.runner, e.round, e.time_us) AS h
               FROM decision_samples e
               WHERE e.decision_id = d.id
               ORDER BY e.position)),
        NULL,
        d.cold, d.decided_us, d.predicted, d.tied, d.exact, d.time_us,
        CASE WHEN d.anchor_us > 0 OR d.config_id IS NULL THEN 'cublasSgemm' ELSE '' END, d.anchor_us, d.ratio,
        d.ratio_low, d.ratio_high, d.rounds, d.trials, d.legal_count, d.model_rank, d.model_first16_share,
        d.registers, d.smem_bytes)
    ELSE d.hash END,
    d.run_id, d.gpu_id, d.problem_id, coalesce(u.new_id, -d.config_id),
    d.cold, d.decided_us, d.predicted, d.tied, d.exact, d.time_us,
    CASE WHEN d.anchor_us > 0 OR d.config_id IS NULL THEN 'cublasSgemm' ELSE '' END, d.anchor_us, d.ratio,
    d.ratio_low, d.ratio_high, d.rounds, d.trials, d.legal_count, d.model_rank, d.model_first16_share, d.registers,
    d.smem_bytes
FROM old_decisions d
LEFT JOIN old_runs o ON o.id = d.run_id
LEFT JOIN runs r ON r.id = d.run_id
LEFT JOIN problems p ON p.id = d.problem_id
LEFT JOIN gpus g ON g.id = d.gpu_id
LEFT JOIN old_configs c ON c.id = d.config_id
LEFT JOIN old_used u ON u.config_id = d.config_id AND u.op = p.op AND u.arch = g.arch
ORDER BY d.id;

INSERT INTO winners (gpu_id, problem_id, cold, decision_id)
SELECT gpu_id, problem_id, cold, decision_id
FROM old_winners;

-- Ids of old runs and attempts are not used again.
DELETE FROM sqlite_sequence WHERE name IN ('runs', 'attempts');
INSERT INTO sqlite_sequence (name, seq)
SELECT substr(name, 5), seq
FROM sqlite_sequence
WHERE name IN ('old_runs', 'old_attempts');

DROP TABLE old_used;
DROP TABLE old_winners;
DROP TABLE old_decision_samples;
DROP TABLE old_decision_runners;
DROP TABLE old_decisions;
DROP TABLE old_trials;
DROP TABLE old_attempts;
DROP TABLE old_runs;
DROP TABLE old_configs;
DROP TABLE old_problems;
DROP TABLE old_gpu_figures;
DROP TABLE old_gpus;
