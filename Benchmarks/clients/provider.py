"""Sends many notifications with the package h2 over one connection, as a provider in Python does, and prints how long that took.

usage: provider.py HOST PORT CA PROVIDER-TOKEN TOKEN TOPIC COUNT IN-FLIGHT
"""

import json
import resource
import socket
import ssl
import sys
import time

import h2.config
import h2.connection
import h2.events


def main() -> None:
    host, port, ca, bearer, token, topic, count, in_flight = sys.argv[1:]
    count, in_flight = int(count), int(in_flight)
    context = ssl.create_default_context(cafile=ca)
    context.set_alpn_protocols(["h2"])
    sock = context.wrap_socket(socket.create_connection((host, int(port))), server_hostname=host)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
    connection.initiate_connection()
    payload = b'{"aps":{"alert":"Hello","badge":1}}'
    headers = [
        (":method", "POST"), (":scheme", "https"), (":path", "/3/device/" + token), (":authority", f"{host}:{port}"),
        ("authorization", "bearer " + bearer), ("apns-topic", topic), ("apns-push-type", "alert"),
        ("apns-priority", "10"), ("apns-expiration", "0"),
    ]
    sent = ended = accepted = open_streams = 0
    # Until the first answer the service allows one stream.
    allowed = 1
    start = time.monotonic()
    while ended < count:
        while sent < count and open_streams < allowed:
            stream = connection.get_next_available_stream_id()
            connection.send_headers(stream, headers)
            connection.send_data(stream, payload, end_stream=True)
            sent += 1
            open_streams += 1
        sock.sendall(connection.data_to_send())
        for event in connection.receive_data(sock.recv(65_536)):
            if isinstance(event, h2.events.ResponseReceived):
                if dict(event.headers)[":status"] == "200":
                    accepted += 1
                    allowed = min(in_flight, connection.remote_settings.max_concurrent_streams)
            elif isinstance(event, h2.events.DataReceived):
                connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                ended += 1
                open_streams -= 1
    wall = time.monotonic() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu = usage.ru_utime + usage.ru_stime
    print(json.dumps({
        "client": "python", "count": count, "failed": count - accepted, "seconds": wall, "cpu": cpu,
        "cpuMicrosecondsEach": cpu / count * 1e6,
    }))


main()
