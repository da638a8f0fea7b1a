"""Clients of the binary API that nobody here wrote, each behind the same calls. Changed are host, port and trust."""

import ssl
import struct
import subprocess
import threading

# Python 3.12 has no `ssl.wrap_socket` any more, and apns3 needs the name to be there.
if not hasattr(ssl, "wrap_socket"):
    ssl.wrap_socket = None
import apns3  # noqa: E402


def port(account):
    return int(account.service.ready["development"]["binary"].rsplit(":", 1)[1])


class Apns3:
    """https://pypi.org/project/apns3/, which sends in the enhanced format and listens for error packets in a thread."""

    def __init__(self, account):
        def wrap_socket(plain, _key, _certificate, do_handshake_on_connect=True):
            context = ssl.create_default_context(cafile=str(account.authority_file))
            context.load_cert_chain(str(account.certificate_file))
            # It takes a session ticket of TLS 1.3 for the end of the connection.
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            return context.wrap_socket(
                plain, server_hostname="127.0.0.1", do_handshake_on_connect=do_handshake_on_connect)

        apns3.wrap_socket = wrap_socket
        # How long its thread waits until it sees that the client was closed.
        apns3.WAIT_READ_TIMEOUT_SEC = 0.2
        self.token = account.device_token
        self.gateway = apns3.APNs(use_sandbox=True, enhanced=True).gateway_server
        self.gateway.server, self.gateway.port = "127.0.0.1", port(account)
        self.packets = []
        self.changed = threading.Event()
        self.gateway.register_response_listener(self.heard)
        disconnect = self.gateway._disconnect

        def disconnected():
            disconnect()
            self.changed.set()

        self.gateway._disconnect = disconnected

    def heard(self, packet):
        self.packets.append((packet["status"], packet["identifier"]))

    def send(self, alert, identifier):
        self.gateway.send_notification(
            self.token, apns3.Payload(alert=alert), identifier=identifier, expiry=0xFFFF_FFFF)

    def end(self):
        """The error packet with which the connection has ended, once it has; None for an end without one."""
        assert self.changed.wait(60)
        return self.packets[0] if self.packets else None

    def is_open(self):
        return self.gateway.connection_alive

    def close(self):
        self.gateway.force_close()
        if worker := self.gateway._error_response_handler_worker:
            worker.join()


class OpenSSL:
    """`openssl s_client`, into which bytes are written as the Guide's Figure A-1 has them."""

    def __init__(self, account):
        self.token = bytes.fromhex(account.device_token)
        self.process = subprocess.Popen(
            ["openssl", "s_client", "-quiet", "-verify_quiet", "-verify_return_error", "-ign_eof", "-CAfile",
             str(account.authority_file), "-cert", str(account.certificate_file), "-cert_chain",
             str(account.certificate_file), "-connect", f"127.0.0.1:{port(account)}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)

    def send(self, alert, identifier):
        items = b"".join(struct.pack(">BH", number, len(data)) + data for number, data in [
            (1, self.token), (2, f'{{"aps":{{"alert":"{alert}"}}}}'.encode()), (3, struct.pack(">I", identifier)),
            (4, struct.pack(">I", 0xFFFF_FFFF))])
        try:
            self.process.stdin.write(struct.pack(">BI", 2, len(items)) + items)
        except BrokenPipeError:
            # It has ended, because the service has refused the connection.
            pass

    def end(self):
        data = b""
        while more := self.process.stdout.read(6 - len(data) or 1):
            data += more
        assert len(data) in (0, 6)
        return struct.unpack(">BBI", data)[1:] if data else None

    def is_open(self):
        return self.process.poll() is None

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


ALL = [Apns3, OpenSSL]
