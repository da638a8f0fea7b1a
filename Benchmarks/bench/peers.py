"""The servers that the service is compared with."""

import os

from processes import Server, free_port, run


def nghttpd(tools, work, under=(), env=None):
    """nghttpd, libnghttp2's own server. It answers every request with a file. `under` is a program that runs it."""
    folder = f"{work}/www/3/device"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{'0' * 64}", "w") as file:
        file.write("{}\n")
    port = free_port()
    key, certificate = tools.server_identity(work)
    command = [*under, "nghttpd", "-d", f"{work}/www", "-n", "1", "-a", "127.0.0.1", str(port), key, certificate]
    return Server("nghttpd", command, port, f"{work}/nghttpd.log", env).wait_for_port()


def go_server(tools, work):
    """A minimal net/http server that reads the body and answers 200."""
    port = free_port()
    key, certificate = tools.server_identity(work)
    return Server(
        "Go net/http", [tools.go_program("server"), f"127.0.0.1:{port}", certificate, key], port, f"{work}/go.log"
    ).wait_for_port()


def mosquitto(tools, work, under=(), env=None):
    """An MQTT broker with client certificates. Its settings are the defaults, except for the number of messages under way."""
    port = free_port()
    key, certificate = tools.server_identity(work)
    with open(f"{work}/mosquitto.conf", "w") as file:
        file.write(
            f"listener {port} 127.0.0.1\ncafile {certificate}\ncertfile {certificate}\nkeyfile {key}\n"
            "require_certificate true\nallow_anonymous true\npersistence false\nuser root\nlog_type error\n"
            "max_inflight_messages 1000\nmax_queued_messages 100000\nmax_connections -1\n"
        )
    command = [*under, "mosquitto", "-c", f"{work}/mosquitto.conf"]
    return Server("mosquitto", command, port, f"{work}/mosquitto.log", env).wait_for_port()
