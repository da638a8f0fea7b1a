import CommonTesting
import Crypto
import Foundation
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The errors of commands: what is wrong, and what to do.
@Suite(.timeLimit(.minutes(2))) struct CommandErrorTests {
    @Test(arguments: [["snd"], ["key", "mke"], ["device", "listn", "--json"]])
    func `A command that there is not`(_ arguments: [String]) async throws {
        let finished = try await BuiltCommand.run(arguments)
        #expect(finished.status != 0)
        #expect(finished.errors.split(separator: "\n").count == 1)
        let names = arguments.filter { !$0.hasPrefix("-") }.joined(separator: " ")
        #expect(finished.errors.contains("There is no command carillon \(names); there are "))
        let first = arguments.count == 1 ? "serve, instance" : "create, "
        #expect(finished.errors.contains(first) || arguments[0] == "device")
    }

    @Test(arguments: [["wait", "--timeout", "soon"], ["health", "--metrics-port"]])
    func `The cause and the advice are two sentences`(_ arguments: [String]) async throws {
        let finished = try await BuiltCommand.run(arguments)
        #expect(finished.status != 0)
        #expect(finished.errors.contains(". See the command's --help."), "\(finished.errors)")
    }

    @Test func `Help is no unknown command`() async throws {
        for arguments in [["help", "send"], ["key", "--help"]] {
            #expect(!(try await BuiltCommand.run(arguments)).errors.contains("There is no command"))
        }
    }

    /// A folder that this process may not read belongs to another user. Root may read all folders, so the test becomes
    /// another user.
    @Test(.enabled(if: geteuid() == 0, "needs to become another user"))
    func `The data folder of another user`() async throws {
        try await CarillonProcess.with { service in
            let arguments = [
                "--reuid", "65534", "--clear-groups", BuiltCommand.path, "team", "list", "--data", service.data,
            ]
            let finished = try await ChildProcess.run("setpriv", arguments)
            #expect(finished.status != 0)
            #expect(finished.errors.contains("another user's"), "\(finished.errors)")
            #expect(!finished.errors.contains("No service runs"))
        }
    }

    /// What TLS reports is in words, with the advice behind it.
    @Test func `An authority that is not trusted, and a server without TLS`() async throws {
        try await CarillonProcess.with { service in
            let key = try service.developmentKey
            let credentials = ["--key-file", key.path, "--key-id", key.keyID, "--team-id", key.teamID]
            func send(_ address: String, _ more: [String]) async throws -> String {
                let finished = try await BuiltCommand.run(
                    ["send", "--url", "https://" + address, "--topic", "com.example.app", "--alert", "x"] + more
                        + credentials)
                #expect(finished.status != 0)
                return finished.errors
            }
            let address = try service.addresses(.development).provider
            let untrusted =
                "the server's certificate has expired, or is not from an authority that is trusted here "
                + "(CERTIFICATE_VERIFY_FAILED). If the server has an authority of its own, name its root certificate with "
                + "--ca FILE.\n"
            let (host, port) = ("127.0.0.1", address.split(separator: ":").last ?? "")
            #expect(
                try await send(address, ["--token", "ab"])
                    == "Error: No connection to \(host), port \(port): \(untrusted)")
            let batch = try await send(address, ["--batch", "/dev/null"])
            #expect(batch.hasPrefix("No connection to \(host), port \(port): \(untrusted)"), "\(batch)")
            let management =
                try FoundationJSON(service.readyLine)["management"]?["url"]?.text.orThrow("no address") ?? ""
            let plain = try await send(
                management.replacing("http://", with: ""), ["--token", "ab", "--ca", service.ready.ca])
            #expect(plain.hasSuffix(" Check the address and the port.\n"), "\(plain)")
            #expect(!plain.contains("channel error") && !plain.contains("TLS: "), "\(plain)")
        }
    }

    /// The binary API and the feedback service are for certificates.
    @Test func `An authority of the legacy API that is not trusted`() async throws {
        try await CarillonProcess.with { service in
            let certificate = service.data + "-provider.pem"
            let team = try service.developmentKey.teamID
            let made = try await service.carillon(
                "certificate", "create", "--team", team, "--bundle-id", "com.example.app", "--environment",
                "development",
                "--out", certificate)
            #expect(made.status == 0, "\(made.errors)")
            for (arguments, address) in [
                (["send", "--binary", "--token", "ab", "--alert", "x"], try service.addresses(.development).binary),
                (["feedback"], try service.addresses(.development).feedback),
            ] {
                let finished = try await BuiltCommand.run(
                    arguments + ["--certificate", certificate, "--url", "https://" + address])
                #expect(finished.status != 0)
                #expect(
                    finished.errors.hasSuffix(
                        "is not from an authority that is trusted here (CERTIFICATE_VERIFY_FAILED). If the server has an "
                            + "authority of its own, name its root certificate with --ca FILE.\n"), "\(finished.errors)"
                )
            }
        }
    }

    @Test func `A token of the other environment`() async throws {
        try await CarillonProcess.with { service in
            let token = try await service.register("com.example.app", on: try await service.activate())
            let arguments = [
                "send", "--data", service.data, "--environment", "production", "--token", token, "--topic",
                "com.example.app", "--alert", "x",
            ]
            let finished = try await BuiltCommand.run(arguments)
            #expect(finished.status != 0 && finished.output.contains("BadDeviceToken"))
            #expect(finished.errors.contains("--environment development"))
        }
    }

    @Test func `A management API on a host that nobody knows`() async throws {
        let place = ["CARILLON_MANAGEMENT_URL": "http://host.invalid:1", "CARILLON_MANAGEMENT_KEY": "x"]
        let finished = try await BuiltCommand.run(["team", "list"], environment: place)
        #expect(finished.status != 0)
        #expect(finished.errors.contains("the name of its host is not known"), "\(finished.errors)")
    }

    @Test(arguments: ["http://", "ftp://127.0.0.1:2198"])
    func `An address of the management API that is none`(url: String) async throws {
        let finished = try await BuiltCommand.run(["team", "list"], environment: ["CARILLON_MANAGEMENT_URL": url])
        #expect(
            finished.errors
                == "Error: CARILLON_MANAGEMENT_URL is \(url); it takes http://HOST:PORT or https://HOST:PORT.\n")
    }

    @Test func `Files that are not there`() async throws {
        for arguments in [
            ["send", "--token", "ab", "--topic", "x", "--payload", "/none", "--url", "https://127.0.0.1:1"],
            ["key", "create", "--team", "ABCDE12345", "--private-key", "/none"],
        ] {
            let finished = try await BuiltCommand.run(arguments)
            #expect(finished.status != 0)
            #expect(finished.errors.contains("/none") && finished.errors.contains("No such file"), "\(finished.errors)")
        }
    }

    @Test(arguments: [("/none", "No such file or directory"), ("/", "Is a directory")])
    func `A file of installations that cannot be read`(_ path: String, _ cause: String) async throws {
        let finished = try await BuiltCommand.run(
            ["provider", "installation", "import", "--bundle-id", "com.example.app", path],
            environment: ["CARILLON_PROVIDER_URL": "http://127.0.0.1:1", "CARILLON_PROVIDER_KEY": "ak_x"])
        #expect(finished.status != 0)
        #expect(finished.errors == "Error: The file \(path) cannot be read: \(cause).\n")
    }

    @Test func `Installations from a pipe, whose size nobody knows`() async throws {
        let finished = try await BuiltCommand.run(
            ["provider", "installation", "import", "--bundle-id", "com.example.app", "/dev/stdin"],
            environment: ["CARILLON_PROVIDER_URL": "http://127.0.0.1:1", "CARILLON_PROVIDER_KEY": "ak_x"])
        #expect(finished.status != 0)
        #expect(finished.errors.hasPrefix("Error: The size of /dev/stdin is not known"), "\(finished.errors)")
    }

    /// A device identity that cannot be used. The TLS library's own errors name its types and its source files.
    @Test func `An identity that cannot be used`() async throws {
        try await CarillonProcess.with { service in
            let texts = try await [service.activate(), service.activate()].map {
                try String(contentsOfFile: $0, encoding: .utf8)
            }
            let certificate = "-----BEGIN CERTIFICATE-----"
            let parts = try texts.map { text in
                let start = try #require(text.range(of: certificate)).lowerBound
                return (key: text[..<start], chain: text[start...])
            }
            let path = service.data + "-spoilt.pem"
            defer { try? FileManager.default.removeItem(atPath: path) }
            let cases: [(text: Substring?, cause: String)] = [
                (parts[0].key + parts[1].chain, "its private key does not belong to its certificate"),
                (parts[0].key + parts[0].chain.prefix(100), "the CERTIFICATE has no end"),
                (parts[0].chain, "is not a device identity: there are no lines Environment: "),
                (nil, "No such file or directory"),
            ]
            for (text, cause) in cases {
                if let text {
                    try String(text).write(toFile: path, atomically: true, encoding: .utf8)
                } else {
                    try FileManager.default.removeItem(atPath: path)
                }
                let finished = try await service.carillon("device", "listen", "--identity", path)
                #expect(finished.status != 0)
                #expect(finished.errors.contains(cause), "\(finished.errors)")
            }
        }
    }

    @Test func `A root certificate that cannot be used`() async throws {
        try await withTemporaryFolder { folder in
            let (key, nonsense) = (folder + "/key.p8", folder + "/nonsense.pem")
            try P256.Signing.PrivateKey().pemRepresentation.write(toFile: key, atomically: true, encoding: .utf8)
            try "nonsense".write(toFile: nonsense, atomically: true, encoding: .utf8)
            for (ca, cause) in [
                (nonsense, "this is not PEM: there is no line -----BEGIN …-----"),
                (folder + "/none", "No such file or directory"),
            ] {
                let finished = try await BuiltCommand.run(Self.sending(with: key) + ["--ca", ca])
                #expect(finished.status != 0)
                #expect(finished.errors.contains("\(ca) cannot be read: \(cause)."), "\(finished.errors)")
            }
        }
    }

    @Test(ServeCommandTests.canHideFolders)
    func `A system without authorities`() async throws {
        try await withTemporaryFolder { folder in
            let key = folder + "/key.p8"
            try P256.Signing.PrivateKey().pemRepresentation.write(toFile: key, atomically: true, encoding: .utf8)
            let script = ServeCommandTests.hidingAuthorities + #"exec "$0" "$@""#
            let finished = try await ChildProcess.run(
                "unshare", ["-rm", "sh", "-c", script, BuiltCommand.path] + Self.sending(with: key))
            #expect(finished.status != 0)
            #expect(finished.errors.contains("ca-certificates"), "\(finished.errors)")
            #expect(finished.errors.contains("--ca FILE"), "\(finished.errors)")
        }
    }

    private static func sending(with key: String) -> [String] {
        [
            "send", "--url", "https://127.0.0.1:1", "--token", "ab", "--topic", "com.example.app", "--alert", "x",
            "--key-file", key, "--key-id", "ABCDE12345", "--team-id", "ABCDE12345",
        ]
    }

    /// `openssl ecparam -genkey` writes the curve's name before the key.
    @Test(.enabled(if: ChildProcess.isInstalled("openssl")))
    func `A key with its curve before it`() async throws {
        try await CarillonProcess.with { service in
            let file = service.data + "/../openssl.pem"
            let made = try await ChildProcess.run(
                "openssl", ["ecparam", "-name", "prime256v1", "-genkey", "-out", file])
            try #require(made.status == 0, "\(made.errors)")
            #expect(try String(contentsOfFile: file, encoding: .utf8).contains("BEGIN EC PARAMETERS"))
            let team = try service.developmentKey.teamID
            let key = try await service.carillon("key", "create", "--team", team, "--private-key", file)
            #expect(key.status == 0, "\(key.errors)")
        }
    }
}
