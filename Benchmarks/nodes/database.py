"""PostgreSQL servers for tests and measurements of a cluster, each on a Unix socket with its data beside it."""

import asyncio
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time


async def output(*arguments, **options):
    """Runs a program, and returns its exit status and its output."""
    process = await asyncio.create_subprocess_exec(*map(str, arguments), stdout=subprocess.PIPE, **options)
    text, _ = await process.communicate()
    return process.returncode, text.decode()


def postgres_command(folder):
    """The way to run PostgreSQL's programs, which refuse to run as root, and where they are."""
    places = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    path = os.pathsep.join([os.environ["PATH"], *map(str, places[-1:])])
    if os.geteuid() != 0:
        return [], path
    owner = pwd.getpwnam("postgres")
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    return ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"], path


class Server:
    """A PostgreSQL server on a Unix socket, with its data beside it."""

    def __init__(self, folder, environment):
        self.folder, self.data, self.environment = folder, folder / "data", environment
        folder.mkdir()
        self.prefix, self.environment["PATH"] = postgres_command(folder)

    def run(self, *command):
        subprocess.run(
            [*self.prefix, *map(str, command)], env=self.environment, cwd=self.folder, check=True,
            capture_output=True)

    def start(self):
        self.process = subprocess.Popen(
            [*self.prefix, "postgres", "-D", self.data, "-k", self.folder, "-c", "listen_addresses="],
            env=self.environment, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)

    async def ask(self, sql):
        """Asks until there is an answer."""
        while True:
            status, text = await output(
                *self.prefix, "psql", "-h", self.folder, "-U", "carillon", "-d", "postgres", "-Atc", sql,
                env=self.environment, cwd=self.folder, stderr=subprocess.DEVNULL)
            if status == 0:
                return text.strip()
            await asyncio.sleep(0.1)

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


class Database:
    """A PostgreSQL primary, with a synchronous standby if there is to be one."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.primary, self.other = (Server(folder / name, dict(os.environ)) for name in "ab")
        self.standby = None
        self.primary.run("initdb", "-D", self.primary.data, "-U", "carillon", "-A", "trust", "--no-sync")
        self.primary.start()

    async def add_standby(self):
        standby = self.other
        shutil.rmtree(standby.data, ignore_errors=True)
        await asyncio.to_thread(
            standby.run, "pg_basebackup", "-h", self.primary.folder, "-U", "carillon", "-D", standby.data, "-R",
            "-c", "fast", "--no-sync")
        standby.start()
        await self.primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        await self.primary.ask("SELECT pg_reload_conf()")
        while await self.primary.ask("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1":
            await asyncio.sleep(0.1)
        self.standby = standby

    async def fail_over(self):
        """Kills the primary, promotes the standby, and makes a new standby."""
        self.primary.kill()
        await asyncio.to_thread(self.standby.run, "pg_ctl", "promote", "-w", "-D", self.standby.data)
        self.primary, self.other, self.standby = self.standby, self.primary, None
        await self.add_standby()

    async def lock_row(self, seconds):
        """Holds the row of a random mailbox, as a forgotten transaction does."""
        await self.primary.ask(
            "BEGIN; SELECT 1 FROM carillon.destination ORDER BY random() LIMIT 1 FOR UPDATE; "
            f"SELECT pg_sleep({seconds}); COMMIT")

    async def vacuum(self, seconds):
        """Rewrites the tables again and again. Each time they are locked."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await self.primary.ask("VACUUM FULL carillon.destination, carillon.device, carillon.announcement")

    def end(self):
        for server in (self.standby, self.primary):
            if server:
                server.end()
