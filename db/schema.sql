-- schema.sql — what gemmtune remembers, version 2. A new file is this text run in one transaction, and then what the
-- version has got since (growth in db_schema.c); db_schema.c refuses a file whose schema is neither that nor more.
-- user_version is set last, by the code that runs it. This text does not change any more: docs/database.md says how a
-- column is added, and how version 3 will follow.
--
-- hash: 16 bytes, XXH3-128 of the row's content (types and values; rows it refers to by their hashes), big endian. The
--       same fact has the same hash in every file, so that merging twice or in any order adds nothing.
-- _us:  a time of day is microseconds since 1970-01-01 UTC; a duration is microseconds.
-- bool: 0 or 1.
--
-- trials, decisions and all that they refer to are only ever added to. That is enforced by an authorizer in the
-- program (db_open.c), not by triggers: a file from elsewhere may hold no code. Changed in place: attempts, the end
-- of a run, which decision is the winner.

PRAGMA application_id = 1735224677; -- "gmme"

-- A model of GPU, as far as it decides whether a result may be used at all.
CREATE TABLE gpus (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
    name TEXT NOT NULL,         -- as the driver gives it: "NVIDIA H200"
    arch INTEGER NOT NULL,      -- compute capability, 10 * major + minor
    sm_count INTEGER NOT NULL   -- streaming multiprocessors
) STRICT;

-- Limits and rates of a GPU as the driver or a descriptor gave them to a run.
CREATE TABLE gpu_figures (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
    gpu_id INTEGER NOT NULL REFERENCES gpus (id),
    short_name TEXT NOT NULL,               -- name on the command line: "h200"; may be empty
    threads_per_sm INTEGER NOT NULL,        -- resident threads, at most
    blocks_per_sm INTEGER NOT NULL,         -- resident blocks, at most
    registers_per_sm INTEGER NOT NULL,      -- 32-bit registers
    smem_per_sm_bytes INTEGER NOT NULL,     -- shared memory
    smem_per_block_bytes INTEGER NOT NULL,  -- shared memory a block may ask for (opt-in)
    smem_reserved_bytes INTEGER NOT NULL,   -- taken by the system from each block's share
    l2_bytes INTEGER NOT NULL,              -- second-level cache
    memory_bytes INTEGER NOT NULL,          -- device memory
    clock_mhz REAL NOT NULL,                -- boost clock
    source TEXT NOT NULL                    -- where the figures come from
) STRICT;

-- Peak rates of these figures; one that is unknown has no row.
CREATE TABLE gpu_rates (
    figures_id INTEGER NOT NULL REFERENCES gpu_figures (id),
    name TEXT NOT NULL,         -- "memory_gb_per_s": 1e9 bytes a second; "fp32_tflops": dense, 1e12 operations a second
    value REAL NOT NULL,
    PRIMARY KEY (figures_id, name)
) STRICT, WITHOUT ROWID;

-- A GEMM problem.
CREATE TABLE problems (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
    text TEXT NOT NULL UNIQUE,  -- canonical text form: "sgemm:nn:4096x4096x4096"; the rest is taken from it
    type TEXT NOT NULL,         -- what is needed of the product: "sgemm"
    op TEXT NOT NULL,           -- which operands are transposed: "nn", "nt", "tn", "tt"
    epilogue TEXT NOT NULL,     -- what is done to the product before it is stored; empty: nothing
    m INTEGER NOT NULL,         -- rows of C
    n INTEGER NOT NULL,         -- columns of C
    k INTEGER NOT NULL,         -- length of the sums
    batch INTEGER NOT NULL      -- number of independent products
) STRICT;

-- A configuration of one version of a kernel.
CREATE TABLE configs (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
    template TEXT NOT NULL,        -- name of the kernel template
    kernel_hash INTEGER NOT NULL,  -- XXH64 of what its compiler sees (64 bits, as a signed number)
    schema_hash INTEGER NOT NULL,  -- XXH64 of the names and kinds of its parameters
    text TEXT NOT NULL             -- "simt BM=128 BN=128 ..."
) STRICT;

-- One start of the tuner for one GPU: all that its trials depend on beside problem and configuration.
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16), -- without ended_us and how
    gpu_id INTEGER NOT NULL REFERENCES gpus (id),
    figures_id INTEGER NOT NULL REFERENCES gpu_figures (id),
    gpu_uuid TEXT NOT NULL,        -- the board; empty: predicted without a GPU
    driver TEXT NOT NULL,          -- version; empty: none
    nvrtc TEXT NOT NULL,           -- version of the compiler
    cublas TEXT NOT NULL,          -- version of the library of the rivals; empty: none
    power_limit_w REAL NOT NULL,   -- watt; 0: unknown
    cold INTEGER NOT NULL CHECK (cold IN (0, 1)), -- bool: operands rotate beyond the L2 cache between launches
    protocol INTEGER NOT NULL,     -- version of the way of measuring; times of different ones do not compare
    seed INTEGER NOT NULL,         -- of data and search (64 bits, as a signed number)
    command TEXT NOT NULL,         -- the command line
    nonce INTEGER NOT NULL,        -- random: two runs are never the same
    started_us INTEGER NOT NULL,
    ended_us INTEGER,              -- NULL: still running, or killed
    how TEXT                       -- how it ended: "finished", "budget", "interrupted", "killed"; NULL: running
) STRICT;

-- Candidates that were sent and have not come back. Written before sending, gone with the trial's transaction: what
-- is still here when no tuner runs was cut off.
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- becomes the trial's id
    run_id INTEGER NOT NULL REFERENCES runs (id),
    problem_id INTEGER NOT NULL REFERENCES problems (id),
    config_id INTEGER NOT NULL REFERENCES configs (id),
    started_us INTEGER NOT NULL
) STRICT;

-- What became of each candidate that was tried.
CREATE TABLE trials (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
    run_id INTEGER NOT NULL REFERENCES runs (id),
    gpu_id INTEGER NOT NULL REFERENCES gpus (id),     -- that of the run
    problem_id INTEGER NOT NULL REFERENCES problems (id),
    config_id INTEGER NOT NULL REFERENCES configs (id),
    cold INTEGER NOT NULL CHECK (cold IN (0, 1)),     -- bool: cache policy it was timed with
    started_us INTEGER NOT NULL,
    ended_us INTEGER NOT NULL,
    recovered_us INTEGER,                 -- not told by a tuner but found cut off, at this time; NULL: told
    verdict TEXT NOT NULL CHECK (verdict IN ('measured', 'slow', 'wrong', 'unbuildable', 'spills', 'refused',
        'crashed', 'hung', 'predicted')),
    detail TEXT NOT NULL,                 -- why it failed; empty otherwise
    registers INTEGER NOT NULL,           -- a thread; 0: unknown
    spill_bytes INTEGER NOT NULL,         -- bytes of spill stores and loads
    static_smem_bytes INTEGER NOT NULL,   -- shared memory a block
    cubin_bytes INTEGER NOT NULL,         -- size of the compiled kernel
    compile_ms REAL NOT NULL,             -- milliseconds; 0: from the cache
    time_us REAL NOT NULL,                -- one call: median of the samples, or the prediction; 0: none
    samples_us BLOB NOT NULL,             -- raw: IEEE doubles, little endian, microseconds a call, in the order taken
    worst_error REAL,                     -- largest |c - reference| / bound (no unit); NULL: not a number
    exact INTEGER NOT NULL CHECK (exact IN (0, 1)), -- bool: integer data gave bit-equal C
    sm_clock_mhz INTEGER NOT NULL,        -- while timed; 0: unknown
    memory_clock_mhz INTEGER NOT NULL,    -- while timed; 0: unknown
    power_w REAL NOT NULL,                -- watt while timed; 0: unknown
    temperature_c INTEGER NOT NULL,       -- degrees Celsius; 0: unknown
    throttle_reasons INTEGER NOT NULL,    -- NVML's bit mask (64 bits, as a signed number)
    wall_ms REAL NOT NULL                 -- milliseconds that the trial cost
) STRICT;
CREATE INDEX trials_by_key ON trials (gpu_id, problem_id, cold, config_id, ended_us);
CREATE INDEX trials_fastest ON trials (gpu_id, problem_id, cold, time_us) WHERE verdict IN ('measured', 'slow');
CREATE INDEX trials_fatal ON trials (gpu_id, config_id) WHERE verdict IN ('crashed', 'hung');

-- A decision for one problem: the race and who won it, or what the model predicts.
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16), -- runners, samples and errors included
    run_id INTEGER NOT NULL REFERENCES runs (id),
    gpu_id INTEGER NOT NULL REFERENCES gpus (id),     -- that of the run
    problem_id INTEGER NOT NULL REFERENCES problems (id),
    config_id INTEGER REFERENCES configs (id),        -- NULL: the rival won
    cold INTEGER NOT NULL CHECK (cold IN (0, 1)),     -- bool: cache policy
    decided_us INTEGER NOT NULL,
    predicted INTEGER NOT NULL CHECK (predicted IN (0, 1)), -- bool: from the model alone
    tied INTEGER NOT NULL CHECK (tied IN (0, 1)),     -- bool: others were within the tie share
    exact INTEGER NOT NULL CHECK (exact IN (0, 1)),   -- bool: integer data gave bit-equal C
    time_us REAL NOT NULL,                -- one call, median block of the race, or the prediction
    rival TEXT NOT NULL,                  -- who was raced against: "cublasSgemm"; empty: nobody
    anchor_us REAL NOT NULL,              -- the rival in the same race; 0: none
    ratio REAL NOT NULL,                  -- the rival's time over the winner's; above 1: faster than the rival; 0: none
    ratio_low REAL NOT NULL,              -- 95 % interval of the ratio
    ratio_high REAL NOT NULL,
    rounds INTEGER NOT NULL,              -- blocks a runner
    trials INTEGER NOT NULL,              -- candidates that the choice rests on
    legal_count INTEGER NOT NULL,         -- size of the legal space
    model_rank INTEGER NOT NULL,          -- where the model had put the winner, 1 is first; 0: unknown
    model_first16_share REAL NOT NULL,    -- winner's time over the best among the model's first 16; 0: unknown
    registers INTEGER NOT NULL,           -- a thread
    smem_bytes INTEGER NOT NULL           -- shared memory a block
) STRICT;

-- Who took part in the race of a decision.
CREATE TABLE decision_runners (
    decision_id INTEGER NOT NULL REFERENCES decisions (id) DEFERRABLE INITIALLY DEFERRED,
    runner INTEGER NOT NULL,              -- 0, 1, ...
    config_id INTEGER NOT NULL REFERENCES configs (id),
    PRIMARY KEY (decision_id, runner)
) STRICT, WITHOUT ROWID;

-- Every timed block of the race, in the order run.
CREATE TABLE decision_samples (
    decision_id INTEGER NOT NULL REFERENCES decisions (id) DEFERRABLE INITIALLY DEFERRED,
    position INTEGER NOT NULL,            -- 0, 1, ...
    runner INTEGER NOT NULL,              -- as above; -1: the rival
    round INTEGER NOT NULL,
    time_us REAL NOT NULL,                -- mean time of a call in the block
    PRIMARY KEY (decision_id, position)
) STRICT, WITHOUT ROWID;

-- How far the products of a decision were from the reference, on the same data; no rows: not measured.
CREATE TABLE decision_errors (
    decision_id INTEGER NOT NULL REFERENCES decisions (id) DEFERRABLE INITIALLY DEFERRED,
    who TEXT NOT NULL CHECK (who IN ('winner', 'rival')),
    name TEXT NOT NULL,  -- "componentwise": largest |c - reference| / (|A||B|); "rms", "max": of c - reference, over the
                         -- largest |reference|
    value REAL NOT NULL, -- no unit
    PRIMARY KEY (decision_id, who, name)
) STRICT, WITHOUT ROWID;

-- The decision that holds now.
CREATE TABLE winners (
    gpu_id INTEGER NOT NULL REFERENCES gpus (id),
    problem_id INTEGER NOT NULL REFERENCES problems (id),
    cold INTEGER NOT NULL CHECK (cold IN (0, 1)),     -- bool: cache policy
    decision_id INTEGER NOT NULL REFERENCES decisions (id),
    PRIMARY KEY (gpu_id, problem_id, cold)
) STRICT, WITHOUT ROWID;
