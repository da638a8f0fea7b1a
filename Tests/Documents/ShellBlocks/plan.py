"""How the shell blocks of each document are run, and which are not run, with the reason.

A document that is not here has no shell blocks. All blocks of a document run in one shell, one after the other, in a folder of their own.
"""

import dataclasses

# Makes files that the documents take for granted.
NEW_KEY = "openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {}\n"
FIELD = "python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())[sys.argv[1]])' "
# A device as docs/device-protocol.md makes it, with an app.
DEVICE = (
    NEW_KEY.format("device.key") +
    "openssl req -new -key device.key -subj / -out device.csr\n"
    "curl --http2 --cacert carillon-data/ca.pem --data-binary @device.csr -o device.crt https://127.0.0.1:5223/1/activations\n"
    "curl --http2 --cacert carillon-data/ca.pem --cert device.crt --key device.key -o /dev/null -X PUT"
    " https://127.0.0.1:5223/1/apps/com.example.app\n")
PHONE = (
    "carillon device activate --out phone.pem\n"
    "TOKEN=$(carillon device register --identity phone.pem --bundle-id com.example.app)\n")


@dataclasses.dataclass
class Plan:
    # Runs first. Addresses in it are replaced as in a block.
    prepare: str = ""
    # Runs before the block that begins with this line.
    before: dict = dataclasses.field(default_factory=dict)
    # Runs after the block that begins with this line, and fails if the block has not done what the document says.
    after: dict = dataclasses.field(default_factory=dict)
    # What a reader would replace as well: a text of the document, and what is run in its place.
    replace: dict = dataclasses.field(default_factory=dict)
    # Commands that do nothing here, and the reason.
    without: dict = dataclasses.field(default_factory=dict)
    # Blocks that are not run, by their first lines, and the reason; "*" for all.
    skipped: dict = dataclasses.field(default_factory=dict)
    # Whether the document needs a PostgreSQL server.
    postgres: bool = False
    # Whether the services that its blocks start in the background stay processes of the shell.
    stays: bool = False


INSTALLS = "changes the machine as root: script/try-packages"
OTHER_MACHINE = "needs another machine"

PLANS = {
    "README.md": Plan(
        without={"apt": INSTALLS},
        skipped={"git clone URL carillon && cd carillon": "builds everything: Packaging/test_scripts.py tests script/run"}),
    "CONTRIBUTING.md": Plan(skipped={"*": "builds everything, and runs all tests, of which this is one"}),
    "Site/index.md": Plan(without={"apt": INSTALLS}),
    "Examples/README.md": Plan(skipped={"*": "ExampleDevicesTests runs both"}),
    "Examples/backend/README.md": Plan(skipped={"*": "Examples/backend/try does all of it"}),
    "Examples/device-agent/README.md": Plan(skipped={"*": "ExampleAppsTests runs it"}),
    "Examples/testing/README.md": Plan(skipped={"*": "script/test runs it"}),
    "Clients/testing/node/README.md": Plan(skipped={"*": "script/testing-clients and script/testing-packages run it"}),
    "Clients/testing/python/README.md": Plan(skipped={"*": "script/testing-clients and script/testing-packages run it"}),
    "docs/administration.md": Plan(
        prepare="carillon serve\n",
        before={
            "export CARILLON_MANAGEMENT_URL=https://push.example.com:2199": "cp carillon-data/ca.pem ca.pem\n",
            # The service was started again meanwhile, with another port.
            "curl $URL/ready": "unset CARILLON_MANAGEMENT_URL CARILLON_ADMINISTRATOR CARILLON_CA\nURL=http://127.0.0.1:2198\n",
            "carillon device invitation list":
                "carillon device invite >/dev/null\nINVITATION=$(carillon device invitation list --json | " + FIELD + "id)\n",
            "carillon administrator list": "SERIAL=$(carillon administrator list --json | " + FIELD + "serial)\n",
            # A serial is a positive number.
            "openssl x509 -noout -serial -in administrator.pem": "SERIAL=4$(openssl rand -hex 16 | cut -c 2-)\n",
        },
        replace={
            "cbbddced672006bb62299b407bbc9c0fafc9ce7ce3fc8cffb6ceadb52fe22606": "$INVITATION",
            "4a5d1c0be0f2437d9c1b6d3f8e2a7b90": "$SERIAL",
        }),
    "docs/channels.md": Plan(prepare="carillon serve\n" + DEVICE),
    "docs/cluster.md": Plan(
        postgres=True,
        before={
            "carillon store copy --from sqlite:./carillon-data --to 'postgresql://carillon@db.example.com/carillon' \\":
                # A service with an embedded store, and an empty database.
                "stop\nrm -r carillon-data\ncarillon serve\nstop\n"
                "sudo -u postgres dropdb carillon\nsudo -u postgres createdb --owner carillon carillon\n",
            "for n in 1 2 3; do": "URL='postgresql://carillon@db.example.com/carillon'\n",
            "carillon node list": "wait\nexport CARILLON_DATA=node1\n",
            # A node that was killed still counts for 15 seconds.
            "carillon node remove node2": "lose /node2\nuntil carillon node list | grep -q 'node2 *gone'; do :; done\n",
            "pg_basebackup --host db.example.com --username replicator --pgdata /backup/base --wal-method stream --checkpoint fast":
                "sudo -u postgres createuser --replication replicator\n",
        },
        replace={"/backup/base": "$PWD/backup", "PT30S": "PT0.1S"}),
    "docs/console.md": Plan(prepare="carillon serve\n", skipped={
        "ssh -L 2198:127.0.0.1:2198 push.example.com carillon console": OTHER_MACHINE}),
    "docs/delivery-log.md": Plan(
        prepare="carillon serve\n" + PHONE +
        "ID=$(carillon send --token $TOKEN --topic com.example.app --alert Hello --json | " + FIELD + "apnsID)\n",
        replace={"UUID": "$ID", "HEX": "$TOKEN"}),
    "docs/device-agent.md": Plan(
        prepare="mkdir -p etc/apps.d run service\n",
        before={
            "carillon send --environment production --token $TOKEN --topic com.example.kiosk --alert \"Order 7\" \\":
                "TOKEN=$(curl --unix-socket run/agent.sock -X PUT http://agent/v1/apps/com.example.kiosk | " + FIELD + "token)\n",
        },
        without={"apt": INSTALLS, "useradd": INSTALLS},
        replace={
            # As the unit starts it.
            "systemctl restart carillon-device":
                "carillon device agent --state $PWD/state --socket $PWD/run/agent.sock "
                "--service $(sed -n s/^CARILLON_DEVICE_SERVICE=//p etc/agent.env) --environment production --ca $PWD/etc/ca.pem "
                "--code-file $PWD/etc/code --apps $PWD/etc/apps.d --no-desktop --confine-commands",
            "systemctl restart carillon": "carillon serve",
            "carillon-agent doctor": "carillon device agent doctor --socket $PWD/run/agent.sock",
            "/etc/carillon-device": "$PWD/etc", "/run/carillon-device": "$PWD/run", "/etc/carillon/": "$PWD/service/",
            "/var/lib/carillon/": "carillon-data/",
            '"user": "kiosk"': '"user": "' + "USER_NAME" + '"',
        }),
    "docs/device-listen.md": Plan(
        prepare="carillon serve\ncarillon device activate --out phone.pem\n",
        # The user is faster here.
        replace={"sleep 5": "sleep 0"}),
    "docs/device-protocol.md": Plan(
        prepare="carillon serve\n",
        before={
            "curl --http2 --cacert $CA --cert device.crt --key device.key -X PUT $COURIER/1/apps/com.example.app/channels/$CHANNEL":
                "CHANNEL=$(carillon channel create --bundle-id com.example.app --json | " + FIELD + "channelID)\n",
        }),
    "docs/gateway.md": Plan(
        prepare=NEW_KEY.format("AuthKey_KEY1234567.p8") +
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=push.example.com"
        " -addext subjectAltName=DNS:push.example.com,IP:127.0.0.1 -keyout privkey.pem -out fullchain.pem 2>/dev/null\n"
        "export CURL_CA_BUNDLE=fullchain.pem\n",
        before={
            'curl --http2 -H "authorization: bearer $CLIENT_KEY" https://push.example.com:12197/1/handles \\':
                "DEVICE_TOKEN=$(openssl rand -hex 32)\nCLIENT_KEY=$(carillon grant create --bundle-id com.example.chat --name chat.example.com --out . --json | "
                + FIELD + "clientKey)\n",
            "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey.p8":
                "CODE=$(carillon grant invite --bundle-id com.example.chat --name chat.example.net --json | " + FIELD + "code)\n",
            "carillon grant set $GRANT --rate 50 --daily 0 --topic ''":
                "GRANT=$(carillon grant list --json | " + FIELD + "grant)\n",
            "carillon grant key add $GRANT --out AuthKey_new.p8":
                "KEY_ID=$(carillon grant show $GRANT --json | " + FIELD + "keyID)\n",
            "NOW=$(date +%s)": "b64() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }\n",
            "carillon app upstream set --bundle-id com.example.shop --environment production \\":
                "carillon app create --team ABCDE12345 --bundle-id com.example.shop\n",
            "certbot certonly --standalone -d push.example.com": "mkdir hooks\n",
        },
        after={
            # What certbot does after a renewal.
            "certbot certonly --standalone -d push.example.com":
                "mkdir fake && printf '#!/bin/sh\\necho \"$@\" >restarted\\n' >fake/systemctl && chmod 755 fake/systemctl\n"
                "RENEWED_DOMAINS='www.example.com' PATH=$PWD/fake:$PATH hooks/carillon\n"
                "test ! -e restarted\n"
                "RENEWED_DOMAINS='www.example.com push.example.com' PATH=$PWD/fake:$PATH hooks/carillon\n"
                "test \"$(cat restarted)\" = 'restart carillon'\n",
        },
        replace={
            "/etc/letsencrypt/live/push.example.com/": "$PWD/", "/etc/ssl/certs/ISRG_Root_X1.pem": "$PWD/fullchain.pem",
            "/etc/letsencrypt/renewal-hooks/deploy/": "$PWD/hooks/",
        },
        without={"certbot": "there is no Let's Encrypt here"},
        skipped={
            "b64() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }":
                "the upstream is Apple's service: GatewayDocumentTests sends to an upstream of its own",
            "curl -X POST --unix-socket $SOCKET http://localhost/v1/requests/17/release":
                "needs a captured request: GatewayJourneyTests releases one",
        }),
    "docs/instance.md": Plan(skipped={"*": "InstanceDocumentTests does all of it, in namespaces"}),
    "docs/install.md": Plan(
        prepare="carillon serve\n",
        skipped={
            "apt install ./carillon_0.2.0_amd64.deb": INSTALLS,
            "mkdir -p /etc/systemd/system/carillon.service.d": INSTALLS,
            "gpgv --keyring ./carillon.gpg SHA256SUMS.asc SHA256SUMS": "needs the files of a release: Packaging/test_packaging.py",
            "install -m 644 carillon.gpg /usr/share/keyrings/carillon.gpg": "changes the machine as root: script/try-repository",
            "tar xzf carillon-0.2.0-linux-x86_64.tar.gz": "needs the files of a release: script/try-packages",
            "cd carillon-0.2.0": INSTALLS,
            "buildah build --format docker --file Containerfile --build-arg ARCHIVE=carillon-0.2.0-linux-x86_64.tar.gz \\":
                "needs the files of a release: script/try-container",
            "podman exec CONTAINER carillon device activate --out /tmp/phone.pem": "needs a container: script/try-container",
        }),
    "docs/ios-simulator.md": Plan(
        prepare="carillon serve\n", without={"ssh": "there is no Mac"},
        skipped={"Examples/ios-simulator/bridge.sh https://carillon.local:5223 ca.pem com.example.app": "needs a Mac with Xcode"}),
    "docs/performance.md": Plan(skipped={"*": "measures for minutes: CI runs script/bench --short"}),
    "docs/provider-server.md": Plan(
        postgres=True, prepare="carillon serve\n",
        before={
            "openssl rand -hex 32 > provider-store.key":
                "stop provider\nsudo -u postgres createuser carillon\nsudo -u postgres createdb --owner carillon push\n",
            "curl -X PUT https://push.example.com/v1/installations/6A1C… -H \"Authorization: Bearer ck_…\" -H \"Installation-Secret: …\" \\":
                "carillon provider app put com.example.app --carillon carillon-data --json >app.json\n" +
                NEW_KEY.format("production.p8") +
                "carillon provider app put com.example.app --environment production --key-id KEY1234567"
                " --key-file production.p8 >/dev/null\n"
                "CLIENT_KEY=$(" + FIELD + "clientKey <app.json)\n"
                "IDENTIFIER=6A1C SECRET=$(openssl rand -hex 16)\n",
        },
        after={
            "carillon provider serve &":
                "ID=$(carillon provider message list | cut -d ' ' -f 1)\n"
                "carillon provider message show --follow $ID | grep 'finished  accepted 1  failed 0'\n",
        },
        replace={
            "6A1C…": "$IDENTIFIER", "ck_…": "$CLIENT_KEY", "Installation-Secret: …": "Installation-Secret: $SECRET",
            "patch 6A1C… -": "patch $IDENTIFIER -", "00fc13ad…": "00fc13ad",
        },
        skipped={
            "curl -X PUT https://push.example.com/v1/installations/6A1C… -H \"Authorization: Bearer eyJhbGciOiJFUzI1NiIs…\" \\":
                "needs an identity provider: IdentityTests"}),
    "docs/send.md": Plan(
        prepare="carillon serve\n" + PHONE +
        "echo '{\"aps\":{\"content-available\":1}}' >silent.json\n"
        "carillon certificate create --team \"$(carillon team list --json | " + FIELD + "teamID)\""
        " --bundle-id com.example.app --environment development --single-topic --out provider.pem\n"
        "generate() { echo \"{\\\"token\\\":\\\"$TOKEN\\\",\\\"payload\\\":{\\\"aps\\\":{\\\"alert\\\":\\\"Hello\\\"}}}\"; }\n"),
    "docs/test-suites.md": Plan(skipped={
        "pip install --no-index --find-links ../carillon/.build/testing-packages carillon-testing": "script/testing-clients installs and tries it",
        "go mod init example.com/orders": "script/testing-clients installs and tries it",
        "npm install --save-dev ../carillon/.build/testing-packages/carillon-testing-0.2.0.tgz": "script/testing-clients installs and tries it",
    }, replace={"/tmp/carillon": "$PWD/carillon"}),
    "docs/test-your-provider.md": Plan(
        prepare="carillon serve\n" + NEW_KEY.format("AuthKey_KEY1234567.p8"),
        after={
            "openssl pkcs12 -in provider.p12 -passin file:passphrase -nodes -out both.pem":
                "openssl pkcs12 -legacy -in legacy.p12 -passin file:passphrase -noout -info 2>&1 | grep -q 3-KeyTripleDES\n",
        }),
    "docs/testing.md": Plan(
        before={
            "carillon serve --accept any --store memory": "unset CARILLON_MANAGEMENT_URL CARILLON_MANAGEMENT_KEY STAY\n",
            "carillon clock                  # 2026-11-23T06:40:00.000Z":
                "carillon serve --clock virtual --journal 1000\ncarillon team create --name Shop --team-id ABCDE12345\n",
            "carillon rehearse Examples/rehearsals/rolling-restart.json": "ln -s \"$ROOT/Examples\" Examples\n",
        },
        # Nothing was sent, so no rule has fired.
        replace={"carillon rehearse status --require-fired": "! carillon rehearse status --require-fired"}, stays=True),
    "docs/web-push.md": Plan(
        prepare="printf '%s' '{\"aps\":{\"alert\":\"New\"},\"m\":{\"$webPush\":\"body\"}}' > template.json\n"
        + NEW_KEY.format("AuthKey_KEY1234567.p8"),
        replace={"0.0.0.0:443": "127.0.0.1:0"}),
}
