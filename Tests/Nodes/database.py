"""PostgreSQL servers for tests and measurements of a cluster, each on a Unix socket with its data beside it."""

import asyncio
import contextlib
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


class Disk:
    """A disk in memory, which can become full. Only root can mount one."""

    # Each server has one, and its data, its journal and a spare segment take a fifth of it.
    MEBIBYTES = 1024

    def __init__(self, folder):
        self.folder = folder
        self.mount(f"size={self.MEBIBYTES}m")

    def mount(self, options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.folder], check=True, capture_output=True)

    def fill(self):
        """Leaves no room but that of the blocks that are used."""
        for _ in range(100):
            used = os.statvfs(self.folder)
            blocks = used.f_blocks - used.f_bfree
            try:
                return self.mount(f"remount,size={blocks * used.f_frsize}")
            except subprocess.CalledProcessError:
                # PostgreSQL has written meanwhile.
                continue
        raise OSError(f"The disk {self.folder} cannot be made smaller.")

    def free(self):
        self.mount(f"remount,size={self.MEBIBYTES}m")

    def unmount(self):
        subprocess.run(["umount", "--lazy", self.folder], check=True)

    @staticmethod
    def can_mount(folder):
        place = folder / "mount"
        place.mkdir()
        try:
            Disk(place).unmount()
            return True
        except (OSError, subprocess.CalledProcessError):
            return False
        finally:
            place.rmdir()


class Server:
    """A PostgreSQL server on a Unix socket, with its data beside it."""

    def __init__(self, folder, environment, has_disk=False):
        self.folder, self.data, self.environment = folder, folder / "data", environment
        folder.mkdir()
        self.disk = Disk(folder) if has_disk else None
        try:
            self.prefix, self.environment["PATH"] = postgres_command(folder)
        except BaseException:
            self.unmount()
            raise

    def run(self, *command):
        subprocess.run(
            [*self.prefix, *map(str, command)], env=self.environment, cwd=self.folder, check=True,
            capture_output=True)

    def start(self):
        self.process = subprocess.Popen(
            # A primary that ends at a full disk must keep what its standby has not got yet.
            [*self.prefix, "postgres", "-D", self.data, "-k", self.folder, "-c", "listen_addresses=", "-c",
             "wal_keep_size=256MB"],
            env=self.environment, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)

    async def try_to(self, sql):
        """Returns whether it succeeded, and what was printed."""
        status, text = await output(
            *self.prefix, "psql", "-h", self.folder, "-U", "carillon", "-d", "postgres", "-Atc", sql,
            env=self.environment, cwd=self.folder, stderr=subprocess.DEVNULL)
        return status == 0, text.strip()

    async def ask(self, sql):
        """Asks until there is an answer."""
        while True:
            succeeded, text = await self.try_to(sql)
            if succeeded:
                return text
            await asyncio.sleep(0.1)

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self):
        try:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()
        finally:
            self.unmount()

    def unmount(self):
        if self.disk:
            self.disk.unmount()


class Database:
    """A PostgreSQL primary, with a synchronous standby if there is to be one."""

    def __init__(self, folder, has_disks=False):
        self.folder = folder
        folder.mkdir()
        self.standby = None
        with contextlib.ExitStack() as failed:
            servers = []
            for name in "ab":
                servers.append(Server(folder / name, dict(os.environ), has_disks))
                failed.callback(servers[-1].unmount)
            self.primary, self.other = servers
            self.primary.run("initdb", "-D", self.primary.data, "-U", "carillon", "-A", "trust", "--no-sync")
            self.primary.start()
            failed.pop_all()

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

    async def fill_disk(self, server):
        """Returns whether PostgreSQL has refused something for want of room. If its journal needs a segment, the server ends."""
        server.disk.fill()
        refused = False
        for _ in range(3):
            # The first needs room in a table's file, the second a segment of the journal, at the standby too.
            refused |= not (await self.primary.try_to(
                "SET synchronous_commit = local; CREATE TABLE ballast AS SELECT repeat('x', 1000) FROM "
                "generate_series(1, 10000); DROP TABLE ballast"))[0]
            refused |= not (await self.primary.try_to("SELECT pg_switch_wal()"))[0]
        return refused

    async def free_disk(self, server):
        server.disk.free()
        # A server that found no room for its journal has ended, or is about to.
        while not (await server.try_to("SELECT 1"))[0]:
            if server.process.poll() is not None:
                server.start()
            await asyncio.sleep(0.1)

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
        # Each of these runs, also if another one fails.
        with contextlib.ExitStack() as ending:
            if not self.standby:
                ending.callback(self.other.unmount)
            for server in (self.primary, self.standby):
                if server:
                    ending.callback(server.end)
