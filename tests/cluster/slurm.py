"""A real Slurm of two nodes on this machine, for a test: slurmctld, two slurmd and a munged of their own in one folder, on
loopback ports that were free. All of them, and what they started, end with it.

Needs Debian's slurm-wlm and munge (tools/setup.sh all), and root, as whom slurmd starts tasks.
"""
import os, pathlib, secrets, shutil, signal, socket, subprocess, time

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel"]
NODES = ["n1", "n2"]
READY_S = 60

CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d.%n.pid
SlurmctldLogFile={folder}/log/ctld
SlurmdLogFile={folder}/log/d.%n
SlurmctldPort={ports[0]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=2,sched_interval=2
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdTimeout=6
KillWait=3
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=500
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=500
PartitionName=p Nodes=n1,n2 Default=YES State=UP
"""


def missing():
    """What a test needs and is not there, as a sentence; "" if it is."""
    absent = [name for name in PROGRAMS if not shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")]
    if absent: return f"Slurm is not installed (no {', '.join(absent)}): tools/setup.sh all installs it"
    return "" if os.geteuid() == 0 else "a Slurm of its own needs root"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets: s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets: s.close()
    return ports


def wait_for(holds, seconds, what):
    """Its first true answer."""
    end = time.monotonic() + seconds
    while True:
        if answer := holds(): return answer
        if time.monotonic() > end: raise TimeoutError(f"after {seconds} s: not {what}")
        time.sleep(0.2)


def environment(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file: return file.read().split(b"\0")
    except OSError: return []


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file: return file.read().decode(errors="replace").split("\0")
    except OSError: return []


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as file: return int(file.read().rpartition(")")[2].split()[1])
    except OSError: return 0


def is_stepd(pid):
    return command_line(pid)[:1] and command_line(pid)[0].startswith("slurmstepd")


class Slurm:
    def __init__(self, folder, env=None):
        self.folder = pathlib.Path(folder)
        self.daemons = {}  # name -> process
        self.mark = secrets.token_hex(8)  # in the environment of all that it starts
        self.env = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "SLURM_CONF": str(self.folder / "slurm.conf"),
                    "SLURM_TEST": self.mark, **(env or {})}

    def __enter__(self):
        for name in ["state", "log", *(f"spool/{n}" for n in NODES)]: (self.folder / name).mkdir(parents=True)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(host=socket.gethostname().split(".")[0], folder=self.folder,
                                                                     ports=free_ports(3)))
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(64))
        key.chmod(0o400)
        try:
            self.start("munged", "--foreground", "--force", "--socket", self.folder / "munge.socket", "--key-file", key,
                       "--log-file", self.folder / "log/munged", "--pid-file", self.folder / "munged.pid", "--seed-file",
                       self.folder / "munge.seed")
            wait_for((self.folder / "munge.socket").exists, READY_S, "a munged")
            self.start("slurmctld", "-D")
            for node in NODES: self.start_node(node)
            self.wait_idle()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        if "slurmctld" in self.daemons:
            try: self.run("scancel", "--signal=KILL", "--full", "--user=root", check=False, timeout=10)
            except (OSError, subprocess.TimeoutExpired): pass
        for process in self.daemons.values(): process.terminate()
        for process in self.daemons.values():
            try: process.wait(10)
            except subprocess.TimeoutExpired: process.kill()
        for pid in self.marked():  # stepds and tasks are in sessions of their own
            try: os.kill(pid, signal.SIGKILL)
            except ProcessLookupError: pass

    def start(self, name, *words, key=None):
        with open(self.folder / "log" / f"{key or name}.out", "ab") as out:
            self.daemons[key or name] = subprocess.Popen([name, *map(str, words)], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                                         env=self.env, start_new_session=True)

    def start_node(self, node):
        self.start("slurmd", "-D", "-N", node, key=node)

    def marked(self):
        """Processes with its mark in their environment: all that its daemons started."""
        mark = b"SLURM_TEST=" + self.mark.encode()
        return [int(name) for name in os.listdir("/proc")
                if name.isdigit() and int(name) != os.getpid() and mark in environment(name)]

    def kill_node(self, node):
        """As if its plug had been pulled: the slurmd, and all tasks on it with their slurmstepd, at once."""
        tasks = self.tasks_on(node)
        victims = {self.daemons[node].pid, *tasks, *(parent for parent in map(parent_of, tasks) if is_stepd(parent))}
        for signal_ in signal.SIGSTOP, signal.SIGKILL:  # none sees another die
            for pid in victims:
                try: os.kill(pid, signal_)
                except ProcessLookupError: pass
        self.daemons.pop(node).wait()

    def tasks_on(self, node):
        return [pid for pid in self.marked() if b"SLURMD_NODENAME=" + node.encode() in environment(pid)]

    def run(self, *words, check=True, timeout=60, **env):
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env={**self.env, **env}, timeout=timeout)
        if check and done.returncode: raise AssertionError(f"{words}: exit code {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def queue(self, *words):
        """[(job of the array or -, task or N/A, state, node)]"""
        lines = self.run("squeue", "--noheader", "--array", "--format=%F %K %T %N", *words).stdout.splitlines()
        return [tuple((line.split() + [""])[:4]) for line in lines]

    def states(self):
        return dict(line.split() for line in self.run("sinfo", "--noheader", "--Node", "--format=%N %T").stdout.splitlines())

    def wait_idle(self, seconds=READY_S):
        wait_for(lambda: list(self.run("sinfo", "--noheader", "--Node", "--format=%T", check=False).stdout.split()) == ["idle", "idle"],
                 seconds, f"two idle nodes, see {self.folder}/log")

    def wait_empty(self, seconds):
        wait_for(lambda: not self.queue(), seconds, "an empty queue")

    def wait_task(self, task, state, seconds=60):
        """The node of the task once it is in this state."""
        return wait_for(lambda: [q[3] or "none" for q in self.queue() if q[1] == str(task) and q[2] == state], seconds,
                        f"task {task} {state}")[0]
