"""Clients that other people wrote. Each is used through the same two methods. Only the host, the port and the trusted
authority are set; nothing else is changed."""

import asyncio
import json
import os
import re
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import aioapns
import jwt
import kalyke
import pyapns_client
from aioapns.connection import APNsDevelopmentClientProtocol


@dataclass
class Answer:
    """What a client tells its caller. Not every client tells everything."""

    reason: str | None
    status: int | None = None
    apns_id: str | None = None


class Aioapns:
    """https://pypi.org/project/aioapns/"""

    takes_certificates = True

    def __init__(self, account, certificate=False):
        APNsDevelopmentClientProtocol.APNS_SERVER = "127.0.0.1"
        APNsDevelopmentClientProtocol.APNS_PORT = account.port
        trust = {"client_cert": str(account.certificate_file)} if certificate else {
            "key": account.private_key, "key_id": account.key_id, "team_id": account.team_id}
        self.loop = asyncio.new_event_loop()

        async def make():
            context = ssl.create_default_context(cafile=str(account.authority_file))
            return aioapns.APNs(topic=account.bundle_id, use_sandbox=True, ssl_context=context, **trust)

        self.client = self.loop.run_until_complete(make())

    def send(self, token, alert, count=1):
        async def run():
            payload = {"aps": {"alert": alert}}
            requests = [
                aioapns.NotificationRequest(token, payload, push_type=aioapns.PushType.ALERT) for _ in range(count)]
            return await asyncio.gather(*map(self.client.send_notification, requests))

        results = self.loop.run_until_complete(run())
        return [Answer(result.description, int(result.status), result.notification_id) for result in results]

    def close(self):
        self.client.pool.close()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()


class Pyapns:
    """https://pypi.org/project/pyapns-client/"""

    takes_certificates = False

    def __init__(self, account):
        pyapns_client.APNSClient.BASE_URLS["dev"] = f"https://127.0.0.1:{account.port}"
        self.account = account
        self.client = self.make()

    def make(self):
        return pyapns_client.APNSClient(
            mode="dev", root_cert_path=str(self.account.authority_file), auth_key_path=str(self.account.key_file),
            auth_key_id=self.account.key_id, team_id=self.account.team_id)

    def send_one(self, client, token, alert):
        payload = pyapns_client.IOSPayload(alert=pyapns_client.IOSPayloadAlert(body=alert))
        notification = pyapns_client.IOSNotification(payload=payload, topic=self.account.bundle_id)
        try:
            client.push(notification=notification, device_token=token)
            return Answer(None, 200)
        except pyapns_client.APNSConnectionException as error:
            raise ConnectionError from error
        except pyapns_client.APNSException as error:
            return Answer(type(error).__name__.removesuffix("Exception"), error.status_code, error.apns_id)

    def send(self, token, alert, count=1):
        if count == 1:
            return [self.send_one(self.client, token, alert)]

        # Use each client on one thread only, because HTTP/2 in httpcore does not support several.
        def some(share):
            client = self.make()
            answers = [self.send_one(client, token, alert) for _ in range(share)]
            client.close()
            return answers

        threads = 20
        with ThreadPoolExecutor(threads) as pool:
            return [answer for answers in pool.map(some, [count // threads] * threads) for answer in answers]

    def close(self):
        self.client.close()


class Kalyke:
    """https://pypi.org/project/kalyke-apns/"""

    takes_certificates = False

    def __init__(self, account):
        class Client(kalyke.ApnsClient):
            @property
            def _base_url(self):
                return f"https://127.0.0.1:{account.port}"

            def _init_client(self, apns_config):
                client = super()._init_client(apns_config)
                # The library has no setting for the authority to trust, nor for its five seconds, which are too few on a busy
                # machine: it makes a new connection for each notification.
                context = ssl.create_default_context(cafile=str(account.authority_file))
                return type(client)(headers=client.headers, http2=True, verify=context, timeout=60)

        self.client = Client(
            use_sandbox=True, team_id=account.team_id, auth_key_id=account.key_id, auth_key_filepath=account.key_file)
        self.config = kalyke.ApnsConfig(topic=account.bundle_id)

    def send(self, token, alert, count=1):
        places = asyncio.Semaphore(20)

        async def one():
            async with places:
                return await attempt()

        async def attempt():
            try:
                return Answer(None, 200, await self.client.send_message(token, kalyke.Payload(alert=alert), self.config))
            except kalyke.exceptions.ApnsProviderException as error:
                return Answer(type(error).__name__)

        async def run():
            return await asyncio.gather(*[one() for _ in range(count)])

        return asyncio.run(run())

    def close(self):
        pass


def provider_token(account):
    return jwt.encode(
        {"iss": account.team_id, "iat": int(time.time())}, account.private_key, algorithm="ES256", headers={"kid": account.key_id})


class Curl:
    """curl, over one connection as far as it can."""

    takes_certificates = True

    def __init__(self, account, certificate=False):
        self.account = account
        self.trust = f'cert = "{account.certificate_file}"\n' if certificate else (
            f'header = "authorization: bearer {provider_token(account)}"\n')

    def request(self, token, alert):
        """A request as curl's configuration writes it."""
        body = json.dumps({"aps": {"alert": alert}}).replace("\\", "\\\\").replace('"', '\\"')
        return (
            f'url = "https://127.0.0.1:{self.account.port}/3/device/{token}"\nhttp2\n'
            f'cacert = "{self.account.authority_file}"\n{self.trust}'
            f'header = "apns-topic: {self.account.bundle_id}"\nheader = "apns-push-type: alert"\n'
            f'data = "{body}"\n')

    def statuses(self, tokens, alert):
        """Sends to all device tokens, 200 at a time, and returns the statuses."""
        requests = [
            self.request(token, alert) + 'output = "/dev/null"\nwrite-out = "%{http_code}\\n"\n' for token in tokens]
        result = subprocess.run(
            ["curl", "--silent", "--show-error", "--parallel", "--parallel-max", "200", "--config", "-"],
            input="next\n".join(requests), text=True, capture_output=True)
        return [int(line) for line in result.stdout.split()]

    def send(self, token, alert, count=1):
        one = self.request(token, alert) + 'write-out = "\\n%{http_code} %header{apns-id}\\n"\n'
        options = ["--parallel", "--parallel-max", "200"] if count > 1 else []
        result = subprocess.run(
            ["curl", "--silent", "--show-error", *options, "--config", "-"], input="next\n".join([one] * count), text=True,
            capture_output=True)
        if result.returncode != 0:
            raise ConnectionError(result.stderr)
        answers = re.findall(r'(\{.*?\})?\n(\d{3}) (\S*)\n', result.stdout)
        return [
            Answer(json.loads(body)["reason"] if body else None, int(status), apns_id) for body, status, apns_id in answers]

    def close(self):
        pass


class Nghttp:
    """nghttp of nghttp2, over one connection. It does not check the server's certificate."""

    takes_certificates = True

    def __init__(self, account, certificate=False):
        self.account = account
        self.trust = ["--cert", account.certificate_file, "--key", account.certificate_file] if certificate else [
            "-H", "authorization: bearer " + provider_token(account)]

    def send(self, token, alert, count=1):
        result = subprocess.run(
            ["nghttp", "--verbose", "--no-dep", "--multiply", str(count), *self.trust, "-H", ":method: POST", "-H",
             "apns-topic: " + self.account.bundle_id, "-H", "apns-push-type: alert", "--data", "-",
             f"https://127.0.0.1:{self.account.port}/3/device/{token}"],
            input=json.dumps({"aps": {"alert": alert}}).encode(), capture_output=True)
        output = result.stdout.decode()
        reasons = re.findall(r'"reason":"(\w+)"', output)
        statuses = re.findall(r":status: (\d+)", output)
        if not statuses:
            raise ConnectionError(output + result.stderr.decode())
        ids = re.findall(r"recv \(stream_id=\d+\) apns-id: (\S+)", output)
        return [
            Answer(reasons[index] if index < len(reasons) else None, int(status), ids[index] if index < len(ids) else None)
            for index, status in enumerate(statuses)]

    def close(self):
        pass


class Go:
    """net/http of Go (provider.go), over one connection as far as it can. script/clients builds it."""

    takes_certificates = True

    def __init__(self, account, certificate=False):
        self.account = account
        self.trust = ["certificate", account.certificate_file] if certificate else [
            "key", account.key_file, account.key_id, account.team_id]

    def send(self, token, alert, count=1):
        result = subprocess.run(
            [os.environ["GO_PROVIDER"], f"https://127.0.0.1:{self.account.port}", self.account.authority_file,
             self.account.bundle_id, token, json.dumps({"aps": {"alert": alert}}), str(count), *self.trust],
            text=True, capture_output=True)
        if result.returncode != 0:
            raise ConnectionError(result.stderr)
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        return [Answer(answer.get("reason"), answer["status"], answer["id"]) for answer in answers]

    def close(self):
        pass


class PHP:
    """PHP's curl (provider.php), over one connection."""

    takes_certificates = True

    def __init__(self, account, certificate=False):
        self.account = account
        headers = ["apns-topic: " + account.bundle_id, "apns-push-type: alert"]
        if not certificate:
            headers.append("authorization: bearer " + provider_token(account))
        self.order = {
            "url": f"https://127.0.0.1:{account.port}", "authority": str(account.authority_file), "headers": headers,
            "certificate": str(account.certificate_file) if certificate else None}

    def send_all(self, tokens, alert):
        """Sends to all device tokens, 200 at a time."""
        order = self.order | {"tokens": tokens, "body": json.dumps({"aps": {"alert": alert}})}
        result = subprocess.run(
            ["php", str(Path(__file__).with_name("provider.php"))], input=json.dumps(order), text=True, capture_output=True)
        if result.returncode != 0:
            raise ConnectionError(result.stderr)
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        return [Answer(answer.get("reason"), answer["status"], answer["id"]) for answer in answers]

    def send(self, token, alert, count=1):
        return self.send_all([token] * count, alert)

    def close(self):
        pass


ALL = [Aioapns, Pyapns, Kalyke, Curl, Nghttp, Go, PHP]
