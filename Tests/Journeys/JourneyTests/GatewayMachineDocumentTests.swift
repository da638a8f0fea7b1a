import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// The first sections of docs/gateway.md as they are written: in namespaces with a network, names and authorities of their own, where
/// another Carillon plays Apple's under Apple's name.
@Suite(.startsPrograms, .timeLimit(.minutes(3))) struct GatewayMachineDocumentTests {
    /// The first block in which the page has this text.
    private static func block(_ text: String) throws -> String {
        let blocks = try Repository.text("docs/gateway.md").components(separatedBy: "```sh\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0].trimmingCharacters(in: .whitespacesAndNewlines) }
        return try #require(blocks.first { $0.contains(text) }, "docs/gateway.md has no block with \(text)")
    }

    /// Makes the namespaces, in which the user is root.
    private static let unshare = ["--map-root-user", "--net", "--mount", "bash", "-e", "-c"]

    /// A copy of `/etc`, because the page's files and names are there. What this user cannot read is not needed.
    private static let preparation = """
        ip link set lo up
        mount -t tmpfs none /mnt
        cp -a /etc /mnt/etc 2>/dev/null || true
        mount --bind /mnt/etc /etc
        mkdir /mnt/local
        mount --bind /mnt/local /usr/local/share/ca-certificates

        """

    private static var isPossible: Bool {
        get async {
            let programs = ["unshare", "ip", "mount", "jq", "curl", "openssl", "update-ca-certificates"]
            guard programs.allSatisfy({ ChildProcess.isInstalled($0) }) else { return false }
            return (try? await ChildProcess.run("unshare", unshare + [preparation]))?.status == 0
        }
    }

    /// A certificate for the machine's name where certbot puts it, of an authority that the system trusts; and the service that plays
    /// Apple's, with the publisher's app, key and a phone.
    private static let surroundings = """
        trap 'kill $(jobs -p)' EXIT
        PATH=$PWD/bin:$PATH
        curl() { command curl -q -sS --fail-with-body --noproxy '*' "$@"; }
        echo '127.0.0.1 push.example.com
        127.0.0.2 api.push.apple.com' >>/etc/hosts
        live=/etc/letsencrypt/live/push.example.com
        mkdir -p $live
        key="ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
        openssl req -x509 -newkey $key -subj /CN=Root -days 2 -keyout root.key -out root.pem \\
            -addext basicConstraints=critical,CA:true -addext keyUsage=critical,keyCertSign
        openssl req -newkey $key -subj /CN=push.example.com -keyout $live/privkey.pem -out request.pem
        printf 'subjectAltName=DNS:push.example.com\\nextendedKeyUsage=serverAuth' >extensions
        openssl x509 -req -in request.pem -CA root.pem -CAkey root.key -CAcreateserial -days 2 -extfile extensions \\
            -out $live/fullchain.pem
        carillon serve --json --ports ephemeral --provider-port production=443 --host 127.0.0.2 \\
            --hostname api.push.apple.com --management 127.0.0.1:0 --data apple >apple.json 2>apple.log &
        until [[ -s apple.json ]]; do sleep 0.1; done
        cp root.pem /usr/local/share/ca-certificates/root.crt
        cp apple/ca.pem /usr/local/share/ca-certificates/apple.crt
        update-ca-certificates
        rm -f /etc/ssl/certs/ISRG_Root_X1.pem
        cp root.pem /etc/ssl/certs/ISRG_Root_X1.pem
        apple() { carillon "$@" --data apple --json; }
        openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey_KEY1234567.p8
        openssl pkey -in AuthKey_KEY1234567.p8 -pubout -out public.pem
        apple team create --name Example --team-id ABCDE12345
        apple app create --team ABCDE12345 --bundle-id com.example.chat
        apple key create --team ABCDE12345 --key-id KEY1234567 --public-key public.pem
        apple device activate --environment production --out phone.pem \\
            --code "$(apple device invite --environment production | jq -r .code)"
        DEVICE_TOKEN=$(apple device register --identity phone.pem --bundle-id com.example.chat | jq -r .token)

        """

    @Test(
        .enabled("it needs namespaces, ip, jq, curl, openssl and update-ca-certificates") { await isPossible }
    )
    func
        `The publisher's ten minutes and the instance's five, with the name, the port and the authorities of the page`()
        async throws
    {
        let script =
            Self.preparation + Self.surroundings
                + """
                ( \(try Self.block("CARILLON_TLS_CERTIFICATE")) ) >publisher.log 2>&1 &
                for attempt in {1..300}; do if carillon health; then break; fi; sleep 0.1; done
                \(try Self.block("carillon team create"))
                \(try Self.block("carillon grant create")) --json >grant.json
                CLIENT_KEY=$(jq -r .clientKey grant.json) KEY_ID=$(jq -r .keyID grant.json)
                \(try Self.block("/1/handles")) >handle.json
                HANDLE=$(jq -r .handle handle.json)
                \(try Self.block("/3/device/"))
                carillon grant show "$(jq -r .grant grant.json)" --json | jq -c .sent
                """
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/bin", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/bin/carillon", withDestinationPath: BuiltCommand.path)
            let finished = try await ChildProcess.run("unshare", Self.unshare + [script], folder: folder)
            #expect(finished.status == 0, "\(finished.output) \(finished.errors)")
            #expect(finished.output.hasSuffix("{\"200\":2}\n"), "\(finished.output) \(finished.errors)")
        }
    }
}
