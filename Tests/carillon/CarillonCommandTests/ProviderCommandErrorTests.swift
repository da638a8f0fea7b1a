import CommonTesting
import Foundation
import ProviderTesting
import Testing

@testable import ServiceTesting

/// `carillon provider …` without a provider server that answers: what failed, and what to do.
@Suite(.timeLimit(.minutes(2))) struct ProviderCommandErrorTests {
    private static func list(_ environment: [String: String], _ more: [String] = []) async throws -> String {
        let finished = try await BuiltCommand.run(["provider", "app", "list"] + more, environment: environment)
        #expect(finished.status == 1 && finished.output.isEmpty)
        // The names of the libraries' types help nobody.
        for name in ["HTTPClientError", "NIO", "BoringSSL", "DecodingError", "Optional"] {
            #expect(!finished.errors.contains(name), "\(finished.errors)")
        }
        return finished.errors
    }

    /// The environment that names a server.
    private static func server(_ url: String, _ authority: String? = nil) -> [String: String] {
        var environment = ["CARILLON_PROVIDER_URL": url, "CARILLON_PROVIDER_KEY": "ak_x"]
        environment["CARILLON_PROVIDER_CA"] = authority
        return environment
    }

    @Test(arguments: [
        ("http://127.0.0.1:1", "No provider server answers at http://127.0.0.1:1: Connection refused."),
        (
            "http://host.invalid:1",
            "No provider server answers at http://host.invalid:1: the name of its host is not known."
        ),
    ])
    func `An address at which no server answers`(url: String, message: String) async throws {
        let errors = try await Self.list(Self.server(url))
        #expect(errors == "Error: \(message) Check CARILLON_PROVIDER_URL.\n")
    }

    @Test func `An address that is none, and a root certificate that cannot be used`() async throws {
        for url in ["127.0.0.1:2190", "https://", "ftp://127.0.0.1:2190", "not one"] {
            let errors = try await Self.list(Self.server(url))
            #expect(
                errors == "Error: CARILLON_PROVIDER_URL is \(url); it takes http://HOST:PORT or https://HOST:PORT.\n")
        }
        try await withTemporaryFolder { folder in
            let (nonsense, none) = (folder + "/nonsense.pem", folder + "/none.pem")
            try "nonsense".write(toFile: nonsense, atomically: true, encoding: .utf8)
            for (file, problem) in [
                (
                    nonsense,
                    ", which CARILLON_PROVIDER_CA names, is no certificate in PEM: this is not PEM: there is no line -----BEGIN …-----."
                ),
                (none, " cannot be read: No such file or directory."),
            ] {
                let errors = try await Self.list(Self.server("https://127.0.0.1:1", file))
                #expect(errors == "Error: The root certificate \(file)\(problem)\n")
            }
        }
    }

    @Test func `The server is reached through the proxy that an option or the environment names`() async throws {
        let url = "https://server.example:2190"
        try await ConnectProxy.run(.answers("HTTP/1.1 503 Busy\r\n\r\n")) { proxy in
            var environment = Self.server(url)
            do {
                let text = try await Self.list(environment, ["--proxy", proxy.url])
                #expect(text.contains("No provider server answers at"))
            }
            environment["HTTPS_PROXY"] = proxy.url
            do {
                let text = try await Self.list(environment)
                #expect(text.contains("No provider server answers at \(url)"))
            }
            #expect(proxy.requests.count == 2)
            #expect(proxy.requests.allSatisfy { $0.hasPrefix("CONNECT server.example:2190 ") })
            environment["NO_PROXY"] = "*.example"
            do {
                let text = try await Self.list(environment)
                #expect(text.contains("the name of its host is not known"))
            }
            #expect(proxy.requests.count == 2)
        }
        for (environment, arguments) in [
            ([:], ["--proxy", "127.0.0.1:3128"]), (["HTTPS_PROXY": "127.0.0.1:3128"], []),
        ] {
            let errors = try await Self.list(Self.server(url).merging(environment) { $1 }, arguments)
            #expect(errors.contains("PROXY is not understood") || errors.contains("--proxy is not understood"))
        }
    }

    @Test func `A folder whose server was killed`() async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            try await ChildProcess.with(
                BuiltCommand.path, ["provider", "serve", "--json", "--listen", "127.0.0.1:0", "--data", data]
            ) { child in
                _ = await child.output.nextLine()
                child.signal(SIGKILL)
                _ = await child.finished()
            }
            let errors = try await Self.list([:], ["--data", data])
            #expect(
                errors == "Error: No provider server runs on \(data); start one with: carillon provider serve --data "
                    + "\(data)\n")
        }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("openssl")))
    func `A certificate that is not trusted, or that is for another name`() async throws {
        try await withTemporaryFolder { folder in
            let made = try await ChildProcess.run(
                "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=push.example.com", "-addext", "subjectAltName=DNS:push.example.com", "-keyout",
                    "key.pem", "-out", "certificate.pem",
                ], folder: folder)
            try #require(made.status == 0, "\(made.errors)")
            let (data, certificate) = (folder + "/data", folder + "/certificate.pem")
            try await ChildProcess.with(
                BuiltCommand.path,
                [
                    "provider", "serve", "--json", "--listen", "127.0.0.1:0", "--data", data, "--certificate",
                    certificate,
                    "--key", folder + "/key.pem",
                ]
            ) { child in
                let ready = try FoundationJSON(try await child.output.nextLine().orThrow("the server has ended"))
                let url = try ready["url"]?.text.orThrow("no address") ?? ""
                let failure = "Error: No provider server answers at \(url): the server's certificate "
                #expect(
                    try await Self.list(Self.server(url))
                        == failure + "has expired, or is not from an authority that is trusted here "
                        + "(CERTIFICATE_VERIFY_FAILED). Name its root certificate in CARILLON_PROVIDER_CA.\n")
                #expect(
                    try await Self.list(Self.server(url, certificate))
                        == failure + "is for other names. Use a name of its certificate in CARILLON_PROVIDER_URL.\n")
                #expect(
                    try await Self.list([:], ["--data", data])
                        == failure
                        + "is for other names. Name a host of its certificate in CARILLON_PROVIDER_URL, with "
                        + "CARILLON_PROVIDER_KEY and CARILLON_PROVIDER_CA.\n")
                // Without TLS, the server closes the connection.
                let plain = try await Self.list(Self.server(url.replacing("https:", with: "http:")))
                #expect(plain.hasSuffix(". Check CARILLON_PROVIDER_URL.\n"), "\(plain)")
            }
        }
    }

    @Test func `A server without TLS`() async throws {
        try await ProviderServerProcess.run { server, _ in
            let errors = try await Self.list(Self.server(server.url.replacing("http:", with: "https:")))
            #expect(errors.hasSuffix(". Check CARILLON_PROVIDER_URL.\n"), "\(errors)")
        }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("python3")))
    func `Something else answers`() async throws {
        try await withTemporaryFolder { folder in
            let arguments = ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", folder]
            try await ChildProcess.with("python3", arguments) { child in
                let line = try await child.output.nextLine().orThrow("the server has ended")
                let port = try line.firstMatch(of: /port (\d+)/).orThrow("no port: \(line)").1
                let url = "http://127.0.0.1:\(port)"
                #expect(try await Self.list(Self.server(url)) == "Error: The server refused: status 404.\n")
                try FileManager.default.createDirectory(atPath: folder + "/v1", withIntermediateDirectories: true)
                try "<html>".write(toFile: folder + "/v1/apps", atomically: true, encoding: .utf8)
                #expect(
                    try await Self.list(Self.server(url))
                        == "Error: What answers at \(url) is no provider server: its answer is not JSON. Check "
                        + "CARILLON_PROVIDER_URL.\n")
            }
        }
    }
}
