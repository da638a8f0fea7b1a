import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// The commands in docs/instance.md, in blocks marked `sh`, work if they are pasted into a shell: in namespaces with a network,
/// names and authorities of their own, where another Carillon plays Apple's.
@Suite(.startsPrograms, .timeLimit(.minutes(3))) struct InstanceDocumentTests {
    private static func blocks() throws -> [String] {
        try Repository.text("docs/instance.md").components(separatedBy: "```sh\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
    }

    /// Makes the namespaces, in which the user is root.
    private static let unshare = ["--map-root-user", "--net", "--mount", "bash", "-e", "-c"]

    private static let preparation = """
        ip link set lo up
        mount -t tmpfs none /mnt
        mkdir /mnt/certs /mnt/local
        cp /etc/hosts /mnt/hosts && mount --bind /mnt/hosts /etc/hosts
        cp -a /etc/ssl/certs/. /mnt/certs/ && mount --bind /mnt/certs /etc/ssl/certs
        mount --bind /mnt/local /usr/local/share/ca-certificates

        """

    private static var isPossible: Bool {
        get async {
            let programs = ["unshare", "ip", "mount", "jq", "curl", "python3", "update-ca-certificates"]
            guard programs.allSatisfy({ ChildProcess.isInstalled($0) }) else { return false }
            return (try? await ChildProcess.run("unshare", unshare + [preparation]))?.status == 0
        }
    }

    /// Starts the service that plays Apple's, with a phone, and the publisher's gateway with a grant and a handle.
    private static let publisher = """
        trap 'kill $(jobs -p)' EXIT
        PATH=$PWD/bin:$PATH
        curl() { command curl -q -sS --fail-with-body --noproxy '*' "$@"; }
        serve() {
            carillon serve --json --ports ephemeral --management 127.0.0.1:0 --data "$1" >"$1.json" 2>"$1.log" &
            until [[ -s $1.json ]]; do sleep 0.1; done
        }
        serve apple
        serve publisher
        apple() { carillon "$@" --data apple --json; }
        publisher() { carillon "$@" --data publisher --json; }
        key=$(jq -r .keyID apple/development.json) team=$(jq -r .teamID apple/development.json)
        apple app create --team "$team" --bundle-id com.example.chat >/dev/null
        apple device activate --environment production --out phone.pem \\
            --code "$(apple device invite --environment production | jq -r .code)" >/dev/null
        token=$(apple device register --identity phone.pem --bundle-id com.example.chat | jq -r .token)
        publisher team create --name Example --team-id ABCDE12345 >/dev/null
        publisher app create --team ABCDE12345 --bundle-id com.example.chat >/dev/null
        publisher app upstream set --bundle-id com.example.chat --environment production \\
            --url "https://$(jq -r .production.provider apple.json)" --ca apple/ca.pem \\
            --key-file "apple/AuthKey_$key.p8" --key-id "$key" --team-id "$team" >/dev/null
        publisher grant create --bundle-id com.example.chat --name chat.example.org --encrypted-only --out . >grant.json
        gateway=$(jq -r .production.provider publisher.json)
        HANDLE=$(command curl -q -sS --http2 --cacert publisher/ca.pem "https://$gateway/1/handles" \\
            -H "authorization: bearer $(jq -r .clientKey grant.json)" \\
            -d "{\\"bundleID\\":\\"com.example.chat\\",\\"environment\\":\\"production\\",\\"token\\":\\"$token\\"}" | jq -r .handle)

        """

    /// Whether a program with the system's authorities trusts the service under Apple's name.
    private static let product = """
        python3 - <<'PYTHON'
        import socket, ssl
        context = ssl.create_default_context()
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("api.push.apple.com", 443)) as connection:
            with context.wrap_socket(connection, server_hostname="api.push.apple.com") as tls:
                assert tls.selected_alpn_protocol() == "h2"
        PYTHON

        """

    @Test(.enabled("it needs namespaces, jq, curl, python3 and update-ca-certificates") { await isPossible })
    func `An instance's product reaches the gateway under Apple's name`() async throws {
        let blocks = try Self.blocks()
        try #require(blocks.count == 4, "docs/instance.md has other blocks than this test")
        let start = blocks[0].trimmingCharacters(in: .whitespacesAndNewlines)
            .replacing("https://push.example.com:12197", with: "\"https://$gateway\" --ca publisher/ca.pem")
        let script =
            Self.preparation + Self.publisher
            + "\(start) >instance.log 2>&1 &\nuntil carillon health; do sleep 0.1; done\n"
            + blocks[1] + blocks[2] + Self.product + blocks[3]
            + "publisher grant show \"$(jq -r .grant grant.json)\" | jq -c .sent"
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/bin", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/bin/carillon", withDestinationPath: BuiltCommand.path)
            let finished = try await ChildProcess.run("unshare", Self.unshare + [script], folder: folder)
            #expect(finished.status == 0, "\(finished.output) \(finished.errors)")
            #expect(finished.output.hasSuffix("{\"200\":1}\n"), "\(finished.output) \(finished.errors)")
        }
    }
}
