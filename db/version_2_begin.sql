-- version_2_begin.sql — migrates version 1 to version 2, first part: renames the old tables. Then come
-- schema.sql and version_2_rows.sql, all in one transaction.

DROP INDEX trials_by_key;
DROP INDEX trials_fastest;
DROP INDEX trials_fatal;
ALTER TABLE gpus RENAME TO old_gpus;
ALTER TABLE gpu_figures RENAME TO old_gpu_figures;
ALTER TABLE problems RENAME TO old_problems;
ALTER TABLE configs RENAME TO old_configs;
ALTER TABLE runs RENAME TO old_runs;
ALTER TABLE attempts RENAME TO old_attempts;
ALTER TABLE trials RENAME TO old_trials;
ALTER TABLE decisions RENAME TO old_decisions;
ALTER TABLE decision_runners RENAME TO old_decision_runners;
ALTER TABLE decision_samples RENAME TO old_decision_samples;
ALTER TABLE winners RENAME TO old_winners;
