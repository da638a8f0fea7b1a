import NIOCore
import ProviderTesting
import Testing

@testable import APNSProvider

/// A client that reaches the service through an HTTP proxy.
@Suite(.timeLimit(.minutes(2))) struct ProxyTests {
    private func run(
        _ manner: ConnectProxy.Manner = .opens,
        user: String = "",
        _ body: (ProviderClient, ScriptedServer, ConnectProxy) async throws -> Void,
    ) async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await ConnectProxy.run(manner) { proxy in
                let address = try HTTPProxy(url: "http://\(user)127.0.0.1:\(proxy.port)")
                try await server.withClient({ $0.proxy = address }) { client in
                    try await body(client, server, proxy)
                }
            }
        }
    }

    @Test func `Notifications go through a tunnel to the service's own name`() async throws {
        try await run { client, server, proxy in
            try await client.accepts(20)
            #expect(server.log.requests.count == 20)
            let head = try #require(proxy.requests.first)
            #expect(head.hasPrefix("CONNECT 127.0.0.1:\(server.port) HTTP/1.1\r\nhost: 127.0.0.1:\(server.port)\r\n"))
            #expect(!head.contains("authorization"))
            #expect(proxy.requests.count == server.log.connections)
        }
    }

    @Test func `The proxy's name and password are sent to it and to nobody else`() async throws {
        try await run(user: "me:secret@") { client, server, proxy in
            try await client.accepts(1)
            #expect(proxy.requests.first?.contains("proxy-authorization: Basic bWU6c2VjcmV0\r\n") == true)
            #expect(server.log.requests.allSatisfy { $0.headers["proxy-authorization"] == nil })
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "name and a password"),
        ("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", "status 503"),
        ("SSH-2.0\r\n\r\n", "the proxy does not speak HTTP"),
        // Garbage without an end.
        ("SSH-2.0", "the proxy does not speak HTTP"), ("\u{15}\u{3}\u{1}", "the proxy does not speak HTTP"),
        ("HTTP/2", "the proxy does not speak HTTP"), ("HTTP/1.1 OK\r\n\r\n", "the proxy does not speak HTTP"),
        ("HTTP/1.1 200 " + String(repeating: "x", count: 9_000), "longer than"),
    ])
    func `A proxy that refuses is named as the cause`(answer: String, cause: String) async throws {
        try await run(.answers(answer)) { client, server, _ in
            let error = await failure { () async throws(ProviderError) in try await client.connect() }
            #expect(error?.code == .cannotConnect)
            #expect(error?.cause.contains(cause) == true, "\(error?.cause ?? "")")
            #expect(server.log.requests.isEmpty)
        }
    }

    @Test func `A proxy that closes the connection is named as the cause`() async throws {
        try await run(.closes) { client, _, _ in
            let error = await failure { () async throws(ProviderError) in try await client.connect() }
            #expect(error?.code == .cannotConnect)
            #expect(error?.cause.contains("the proxy closed") == true, "\(error?.cause ?? "")")
        }
    }

    @Test func `A proxy that is silent is given up`() async throws {
        try await run(.silent) { client, _, _ in
            let error = await failure { () async throws(ProviderError) in
                try await client.connect(within: .milliseconds(300))
            }
            #expect(error?.code == .deadlineExceeded || error?.code == .cannotConnect)
        }
    }

    @Test func `A proxy that is silent is named as the cause`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            try await ConnectProxy.run(.silent) { proxy in
                let address = try HTTPProxy(url: proxy.url)
                var internals = ProviderClient.Internals()
                internals.openTimeout = .milliseconds(50)
                try await server.withClient({ $0.proxy = address }, internals: internals) { client in
                    let error = await failure { () async throws(ProviderError) in try await client.connect() }
                    #expect(error?.code == .cannotConnect)
                    #expect(error?.cause.contains("the proxy did not answer in time") == true, "\(error?.cause ?? "")")
                }
            }
        }
    }

    @Test func `A proxy that cannot be reached is named as the cause`() async throws {
        try await ScriptedServer.run(script: { $1.answer($0.stream) }) { server in
            let address = try HTTPProxy(url: "http://127.0.0.1:1")
            try await server.withClient({ $0.proxy = address }) { client in
                let error = await failure { () async throws(ProviderError) in try await client.connect() }
                #expect(error?.cause.contains("the proxy cannot be reached") == true, "\(error?.cause ?? "")")
            }
        }
    }

    @Test(arguments: ["ftp://host:1", "https://host", "host:3128", "http://", "http://host:0", "http://host/path", ""])
    func `Another address than that of a proxy is refused`(url: String) {
        #expect(throws: ProviderError.self) { try HTTPProxy(url: url) }
    }

    @Test func `The feedback service is reached through a proxy, and a proxy that refuses is named`() async throws {
        let made = try TestAuthority.providerCertificate()
        let credentials = try ProviderCredentials(certificate: made.chain + made.key)
        try await ScriptedServer.run(script: { _, _ in }) { server in
            for (manner, cause) in [
                (ConnectProxy.Manner.answers("HTTP/1.1 503 Busy\r\n\r\n"), "status 503"), (.closes, "the proxy closed"),
            ] {
                try await ConnectProxy.run(manner) { proxy in
                    let reader = FeedbackReader(
                        environment: try server.environment(), credentials: credentials,
                        proxy: try HTTPProxy(url: proxy.url))
                    let error = await failure { () async throws(ProviderError) in try await reader.read() }
                    #expect(
                        error?.code == .cannotConnect && error?.cause.contains(cause) == true, "\(error?.cause ?? "")")
                    #expect(proxy.requests.first?.hasPrefix("CONNECT 127.0.0.1:\(server.port) ") == true)
                }
            }
            try await ConnectProxy.run { proxy in
                let reader = FeedbackReader(
                    environment: try server.environment(), credentials: credentials,
                    proxy: try HTTPProxy(url: proxy.url))
                // The server speaks HTTP/2, and so does not send the list of a feedback service.
                let error = await failure { () async throws(ProviderError) in
                    try await reader.read(deadline: .seconds(2))
                }
                #expect(error != nil && error?.code != .cannotConnect)
                #expect(server.log.connections == 1)
            }
        }
    }

    private func isDirect(_ exception: String, _ host: String, _ port: Int = 443) throws -> Bool {
        try ProxyRules(variables: ["HTTPS_PROXY": "http://proxy:1", "NO_PROXY": exception]).proxy(for: host, port: port)
            == nil
    }

    @Test(
        arguments: [
            ("*.apple.com", "api.push.apple.com", true), ("*.apple.com", "apple.com", false),
            (".apple.com", "apple.com", true), ("apple.com.", "API.apple.com.", true),
            ("a.example:443", "a.example", true), ("a.example:444", "a.example", false),
            ("10.0.0.0/8", "10.1.2.3", true), ("10.0.0.0/8", "11.1.2.3", false), ("10.0.0.0/8", "10.example", false),
            ("10.0.0.0/8", "10.1.2.3\u{0}.example", false),
            ("10.1.2.3:443", "10.1.2.3", true), ("10.1.2.3:444", "10.1.2.3", false),
            ("2001:db8::/32", "2001:db8::1", true), ("[2001:db8::1]:443", "2001:db8:0::1", true),
            ("x y.example", "y.example", true), ("x,\ty.example", "y.example", true), ("", "y.example", false),
        ] as [(String, String, Bool)])
    func `Exceptions are names, addresses and ranges, also with a port`(
        exception: String,
        host: String,
        isException: Bool,
    ) throws {
        #expect(try isDirect(exception, host) == isException)
    }

    @Test(arguments: [
        "http://a.example", "10.0.0.0/33", "10.0.0.1/8", "a.*", "a:b", "a:0", "[::1", "a..b", "ä.example",
    ])
    func `An exception that is not understood is refused, and named`(exception: String) {
        #expect {
            try isDirect(exception, "y.example")
        } throws: { error in
            let cause = (error as? ProviderError)?.cause ?? ""
            return cause.hasPrefix("NO_PROXY has ") && cause.contains(exception)
        }
    }

    @Test func `A setting comes before the environment, and a mistake in either is named`() throws {
        let variables = ["HTTPS_PROXY": "127.0.0.1:3128", "NO_PROXY": "b.example"]
        #expect {
            try ProxyRules(variables: variables)
        } throws: { error in
            (error as? ProviderError)?.cause.hasPrefix(
                "HTTPS_PROXY is not understood. The address of a proxy begins with http://")
                == true
        }
        let rules = try ProxyRules(variables: variables, setting: ("--proxy", "http://127.0.0.1:3128"))
        #expect(rules.proxy(for: "a.example", port: 443)?.port == 3128)
        #expect(rules.proxy(for: "b.example", port: 443) == nil && rules.proxy(for: "127.0.0.1", port: 443) == nil)
        // Without a proxy nobody needs the exceptions.
        #expect(try ProxyRules(variables: ["NO_PROXY": "a:b"]) == .none)
    }

    @Test func `The environment names the proxy, and exceptions from it`() throws {
        func proxy(_ variables: [String: String], _ service: APNSEnvironment = .production) throws -> String? {
            try HTTPProxy.named(by: variables, for: service).map { "\($0.host):\($0.port)" }
        }
        #expect(try proxy([:]) == nil)
        #expect(try proxy(["HTTPS_PROXY": "http://proxy:3128"]) == "proxy:3128")
        #expect(try proxy(["https_proxy": "http://proxy"]) == "proxy:80")
        #expect(try proxy(["HTTPS_PROXY": "", "https_proxy": "http://low:1"]) == "low:1")
        for exception in ["*", "push.apple.com", ".apple.com", "x, API.push.apple.com"] {
            #expect(try proxy(["HTTPS_PROXY": "http://proxy:1", "NO_PROXY": exception]) == nil)
        }
        #expect(try proxy(["HTTPS_PROXY": "http://proxy:1", "NO_PROXY": "apple.com.example.com"]) == "proxy:1")
        for local in ["127.0.0.1", "::1", "LOCALHOST"] {
            #expect(try proxy(["HTTPS_PROXY": "http://proxy:1"], APNSEnvironment(host: local)) == nil)
        }
        // A name that only looks like an address of this machine may lead anywhere.
        #expect(try proxy(["HTTPS_PROXY": "http://proxy:1"], APNSEnvironment(host: "127.evil.example")) == "proxy:1")
        #expect(throws: ProviderError.self) { try proxy(["HTTPS_PROXY": "socks5://proxy"]) }
    }
}
