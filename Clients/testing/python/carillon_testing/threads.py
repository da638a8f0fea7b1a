"""Runs what waits in a thread, for asyncio."""

import asyncio
import threading


async def in_thread(work):
    """Returns what `work` returns, and lets the event loop run meanwhile.

    Each call has a thread of its own. Those that asyncio keeps for this are few, and many tests may wait at the same time.
    """
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def finish(set_result, value):
        if not future.done():
            set_result(value)

    def run():
        try:
            arguments = future.set_result, work()
        except BaseException as error:
            arguments = future.set_exception, error
        try:
            loop.call_soon_threadsafe(finish, *arguments)
        except RuntimeError:
            pass  # The loop was closed, so nobody waits any more.

    threading.Thread(target=run, name="carillon", daemon=True).start()
    return await future
