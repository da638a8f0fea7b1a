"""A client of python-h2, which checks everything that it gets. usage: client.py PORT CERTIFICATE"""

import socket
import ssl
import sys

import h2.config
import h2.connection
import h2.events
import h2.exceptions

port, certificate = int(sys.argv[1]), sys.argv[2]
context = ssl.create_default_context(cafile=certificate)
context.set_alpn_protocols(["h2"])
channel = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30), server_hostname="localhost")
connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
connection.initiate_connection()

answers, waiting, rests = {}, set(), {}


def send(stream):
    """Sends as much of a body as the windows allow."""
    while rests.get(stream):
        room = min(connection.local_flow_control_window(stream), connection.max_outbound_frame_size)
        if room <= 0:
            return
        part, rests[stream] = rests[stream][:room], rests[stream][room:]
        connection.send_data(stream, part, end_stream=not rests[stream])


def post(path, apns_id, body):
    stream = connection.get_next_available_stream_id()
    headers = [(":method", "POST"), (":scheme", "https"), (":path", path), (":authority", "localhost"),
               ("apns-id", apns_id)]
    connection.send_headers(stream, headers, end_stream=not body)
    answers[stream] = {"body": b""}
    rests[stream] = body
    waiting.add(stream)
    send(stream)
    return stream


def finish():
    while waiting:
        channel.sendall(connection.data_to_send())
        received = channel.recv(65_536)
        if not received:
            raise SystemExit("the server has closed the connection")
        for event in connection.receive_data(received):
            if isinstance(event, h2.events.ResponseReceived):
                answers[event.stream_id] |= dict(event.headers)
            elif isinstance(event, h2.events.DataReceived):
                answers[event.stream_id]["body"] += event.data
                connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                waiting.remove(event.stream_id)
            elif isinstance(event, (h2.events.WindowUpdated, h2.events.RemoteSettingsChanged)):
                for stream in list(rests):
                    try:
                        send(stream)
                    except h2.exceptions.StreamClosedError:
                        pass
            elif isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)):
                raise SystemExit(repr(event))


streams = {number: post("/echo", str(number), b'{"%d"}' % number) for number in range(100)}
finish()
good = sum(answers[stream].get("apns-id") == str(number) and answers[stream].get(":status") == "200"
           and answers[stream]["body"] == b'{"%d"}' % number for number, stream in streams.items())
long = post("/echo", "long", b"x" * 100_000)
finish()
large = post("/large", "large", b"")
finish()
print(good, len(answers[long]["body"]), len(answers[large]["body"]))
connection.close_connection()
channel.sendall(connection.data_to_send())
