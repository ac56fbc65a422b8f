"""Power cuts: what is on the disk if the machine stops between any two calls on files.

One tune is traced: every write, sync, truncation, removal and renaming by supervisor and children, in one order. For a cut
after the k-th of them the files are rebuilt as a disk could contain them: all synced data, and of the data written
after the last sync of a file nothing, everything, or any part in any order (by sectors of 512 bytes). Then `tune verify`
must accept the file, and every trial acknowledged before the cut must be in it.

The model: a creation, a removal and a renaming reach the disk in order, at the latest with the next sync of anything.
Disks that report a sync too early are not modelled.
"""
import collections, os, random, shutil, subprocess

import common

SECTOR = 512
NOTHING, EVERYTHING, SOME = "nothing", "everything", "some"

Call = collections.namedtuple("Call", "what path offset bytes")


def read_trace(path):
    """Reads the trace that campaign_io.c wrote."""
    with open(path, "rb") as file: data = file.read()
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        what, length, offset, size = data[at:end].split(b" ")
        start = end + 1 + int(length)
        yield Call(what.decode(), data[end + 1:start].decode(), int(offset), data[start:start + int(size)])
        at = start + int(size)


def pending(calls):
    """For each call, whether its effect may still be missing after the last one."""
    synced, any_sync, missing = set(), False, []
    for call in reversed(calls):
        if call.what == "S": synced.add(call.path); any_sync = True
        if call.what in "WT": missing.append(call.path not in synced)
        else: missing.append(not any_sync and call.what in "CUR")
    return missing[::-1]


def apply(files, call):
    if call.what == "C": files.setdefault(call.path, bytearray())
    elif call.what == "U": files.pop(call.path, None)
    elif call.what == "R" and call.path in files: files[call.bytes.decode()] = files.pop(call.path)
    elif call.what == "T" and call.path in files:
        file = files[call.path]
        del file[call.offset:]
        file.extend(bytes(call.offset - len(file)))
    elif call.what == "W" and call.path in files:
        file = files[call.path]
        if len(file) < call.offset: file.extend(bytes(call.offset - len(file)))
        file[call.offset:call.offset + len(call.bytes)] = call.bytes


def part_of(call, rng):
    """Some sectors of a write."""
    first, last = sorted(rng.sample(range(len(call.bytes) // SECTOR + 2), 2))
    return call._replace(offset=call.offset + first * SECTOR, bytes=call.bytes[first * SECTOR:last * SECTOR])


def disk_after(calls, how, rng):
    """The files after a cut that follows the last of the calls."""
    files, names_gone = {}, False
    for call, missing in zip(calls, pending(calls)):
        if missing and call.what in "CUR":  # in order: once one is missing, all later ones are
            names_gone = names_gone or how == NOTHING or (how == SOME and rng.random() < 0.1)
            if names_gone: continue
        elif missing and how == NOTHING:
            continue
        elif missing and how == SOME and (chance := rng.random()) < 0.7:
            if call.what == "T" or chance < 0.4 or not call.bytes: continue
            call = part_of(call, rng)
        apply(files, call)
    return files


def acknowledged(calls, log, folder):
    """The trials that the children's log contained before the cut."""
    with open(folder("log-cut"), "wb") as file: file.write(b"".join(c.bytes for c in calls if c.what == "W" and c.path == log))
    return common.acknowledged(folder("log-cut"))


def cut(setting, folder, calls, k, how, db, log, complete, rng, result):
    files = disk_after(calls[:k], how, rng)
    acks = complete if k == len(calls) else acknowledged(calls[:k], log, folder)
    place = folder("copy")
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place)
    for path, content in files.items():
        if not path.startswith(db) or path.endswith(("-shm", ".lock")): continue
        with open(folder("copy", os.path.basename(path)), "wb") as file: file.write(content)
    result.tested += 1
    result.add(f"of what was not synced, {how}")
    case = f"cut after call {k} of {len(calls)} ({calls[k - 1].what} {os.path.basename(calls[k - 1].path)}), {how} of what was not synced"
    image = folder("copy", "t.db")
    result.add("trials acknowledged", sum(acks.values()))
    if not os.path.exists(image):
        if acks: result.found("lost", f"all {sum(acks.values())} acknowledged trials: no file: {case}")
        return
    code, said = common.verify(setting, image, folder)
    if code and not (code == 1 and not acks): result.found("verify", f"exit code {code}: {case}: {said[-200:]}")
    try: lost = sum((acks - common.stored(image)).values())
    except Exception as error: lost, said = sum(acks.values()), str(error)
    result.add("trials lost", lost)
    if lost: result.found("lost", f"{lost} of {sum(acks.values())} acknowledged trials: {case}")


def run(setting, result):
    rng = random.Random(setting.random.random())
    while not setting.time_is_up():
        with common.Folder() as folder:
            db = folder("t.db")
            rounds = 1 if rng.random() < 0.5 or setting.quick else 3  # also with a file that has earlier runs
            for number in range(rounds):
                last = number == rounds - 1
                env = setting.preload("io") | ({"CAMPAIGN_TRACE": folder("trace")})
                words = common.fake_tune(setting, db, [common.random_shape(rng)], "--max-trials", str(rng.choice([10, 40])))
                run = common.Run(setting, folder, words, env, log=f"log{number}")
                if (why := common.wrong_end(run, run.wait(), {0})):
                    result.found("the traced run ended badly", why)
                    return
                if run.left(): result.found("orphans", "after the traced run")
                if not last: continue
                calls = [c for c in read_trace(folder("trace")) if "/home/" not in c.path]
                complete = common.whole(run.log)
            if not setting.faults: return
            # The last run's acknowledgements begin with its log; earlier rows are not counted.
            first = next(i for i, c in enumerate(calls) if c.path == run.log)
            result.add("traced runs")
            cuts = range(first if rounds > 1 else 1, len(calls) + 1)
            for k in rng.sample(list(cuts), min(len(cuts), 12 if setting.quick else 150)) + [len(calls)]:
                for how in (NOTHING, EVERYTHING, SOME):
                    cut(setting, folder, calls, k, how, db, run.log, complete, rng, result)
                    if setting.time_is_up() or (result.findings and setting.plant): return
        if setting.quick: return
