import CommonTesting
import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import ServiceTesting

/// If a service cannot start, it prints one line, and leaves everything unchanged.
@Suite(.timeLimit(.minutes(2))) struct BadStartTests {
    private func serve(
        data: String,
        _ arguments: [String] = ["--ports", "ephemeral"],
        environment: [String: String] = [:],
    ) async throws -> ChildProcess.Finished {
        try await BuiltCommand.startInVain(["serve", "--json", "--data", data] + arguments, environment: environment)
    }

    // MARK: Proxies

    @Test(arguments: [
        (["HTTPS_PROXY": "127.0.0.1:3128"], "HTTPS_PROXY"),
        (["https_proxy": "http://proxy:1", "NO_PROXY": "10.0.0.0/33"], "10.0.0.0/33"),
    ])
    func `A proxy that is not understood`(environment: [String: String], name: String) async throws {
        try await withTemporaryFolder { folder in
            let service = try await serve(data: folder + "/data", environment: environment)
            expectOneLine(service, naming: name)
            let provider = try await BuiltCommand.startInVain(
                ["provider", "serve", "--data", folder + "/provider", "--listen", "127.0.0.1:0"],
                environment: environment)
            expectOneLine(provider, naming: name)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    // MARK: Ports and sockets

    @Test func `A port in use`() async throws {
        // An address of the loopback network that nothing else uses, because this test needs a fixed port.
        let host = "127.65.43.21"
        let holder = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: host, port: 2197).get()
        try await withTemporaryFolder { folder in
            let finished = try await serve(data: folder + "/data", ["--ports", "standard", "--host", host])
            expectOneLine(finished, naming: "2197", host)
        }
        try await holder.close()
    }

    @Test func `An address that is not this machines`() async throws {
        try await withTemporaryFolder { folder in
            let finished = try await serve(data: folder + "/data", ["--ports", "ephemeral", "--host", "192.0.2.1"])
            expectOneLine(finished, naming: "192.0.2.1")
            // No incomplete folder is left.
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test func `A host that is none`() async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/a/b"
            let finished = try await serve(data: data, ["--ports", "ephemeral", "--host", "nonsense.invalid"])
            expectOneLine(finished, naming: "the name nonsense.invalid is not known")
            #expect(!finished.errors.contains("SocketAddressError"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    /// An existing folder stays, with its contents.
    @Test func `A start that fails leaves a folder as it was`() async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            let options = ["--ports", "ephemeral", "--host", "192.0.2.1"]
            try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
            _ = try await serve(data: data, options)
            #expect(try FileManager.default.contentsOfDirectory(atPath: data).isEmpty)
            try await CarillonProcess.with(data: data) { service in #expect(await service.stop().status == 0) }
            let before = try contents(ofFolder: data)
            _ = try await serve(data: data, options)
            let after = try contents(ofFolder: data)
            #expect(before["ca.pem"] != nil && after["ca.pem"] == before["ca.pem"])
            #expect(after["carillon.sqlite"] != nil)
        }
    }

    @Test func `A socket path that is too long has a way round`() async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/" + String(repeating: "long", count: 30)
            let finished = try await serve(data: data)
            expectOneLine(finished, naming: "--socket", "\(data)/admin.sock")
            try await CarillonProcess.with(data: data, ["--socket", folder + "/s"]) { service in
                let made = try await service.carillon("team", "create", "--name", "Team")
                #expect(made.status == 0, "\(made.errors)")
            }
        }
    }

    // MARK: The data folder

    @Test func `A data folder that cannot be made`() async throws {
        try await withTemporaryFolder { folder in
            try Data("mine".utf8).write(to: URL(fileURLWithPath: folder + "/file"))
            let finished = try await serve(data: folder + "/file/data")
            expectOneLine(finished, naming: folder + "/file/data")
            #expect(try contents(ofFolder: folder) == ["file": Data("mine".utf8)])
        }
    }

    @Test func `A data folder that is a file`() async throws {
        try await withTemporaryFolder { folder in
            try Data("mine".utf8).write(to: URL(fileURLWithPath: folder + "/file"))
            let finished = try await serve(data: folder + "/file")
            expectOneLine(finished, naming: folder + "/file")
            #expect(try contents(ofFolder: folder) == ["file": Data("mine".utf8)])
        }
    }

    @Test(.enabled(if: getuid() != 0, "root may write everywhere"))
    func `A data folder that cannot be written to`() async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            try FileManager.default.createDirectory(
                atPath: data, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o500])
            expectOneLine(try await serve(data: data), naming: data)
        }
    }

    @Test func `A folder with somebody elses files`() async throws {
        try await withTemporaryFolder { folder in
            try Data("mine".utf8).write(to: URL(fileURLWithPath: folder + "/diary.txt"))
            let finished = try await serve(data: folder)
            expectOneLine(finished, naming: folder, "diary.txt")
            #expect(try contents(ofFolder: folder) == ["diary.txt": Data("mine".utf8)])
        }
    }

    /// The data folder after a first start that was killed or found the disk full.
    @Test func `A folder with the beginnings of one of ours`() async throws {
        try await withTemporaryFolder { folder in
            for name in ["lock", "carillon.sqlite.new", "carillon.sqlite.new-journal"] {
                try Data().write(to: URL(fileURLWithPath: folder + "/" + name))
            }
            for name in ["log", "secrets"] {
                try FileManager.default.createDirectory(
                    atPath: folder + "/" + name, withIntermediateDirectories: false)
            }
            try await CarillonProcess.with(data: folder) { service in
                let listed = try await service.carillon("team", "list")
                #expect(listed.status == 0)
            }
        }
    }

    @Test func `A second service on the same folder`() async throws {
        try await CarillonProcess.with { service in
            let before = try Data(contentsOf: URL(fileURLWithPath: service.data + "/service.json"))
            expectOneLine(try await serve(data: service.data), naming: service.data)
            #expect(try Data(contentsOf: URL(fileURLWithPath: service.data + "/service.json")) == before)
            // The key of the first start is still used.
            let token = try await service.register("com.example.app", on: try await service.activate())
            #expect(try await service.send(alert: "Still here", to: token).status == 200)
        }
    }

    // MARK: The database

    /// Runs a service that makes a database, changes the database, and starts another service, which must fail.
    private func serveChanged(
        _ change: (_ database: String) async throws -> Void,
        _ body: (ChildProcess.Finished, _ database: String) throws -> Void,
    ) async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            try await CarillonProcess.with(data: data) { service in
                #expect(await service.stop().status == 0)
            }
            let database = data + "/carillon.sqlite"
            try await change(database)
            let before = try contents(ofFolder: data)
            try body(try await serve(data: data), database)
            // Opening the database makes SQLite's own files beside it, which are empty.
            let after = try contents(ofFolder: data).filter { !$0.key.hasPrefix("carillon.sqlite-") }
            #expect(after == before.filter { !$0.key.hasPrefix("carillon.sqlite-") })
        }
    }

    @Test func `A database that is damaged at its beginning`() async throws {
        try await serveChanged { database in
            var bytes = try Data(contentsOf: URL(fileURLWithPath: database))
            bytes.replaceSubrange(0..<16, with: Data(repeating: 0xaa, count: 16))
            try bytes.write(to: URL(fileURLWithPath: database))
        } _: { finished, database in
            expectOneLine(finished, naming: database)
        }
    }

    @Test func `A database that is damaged within`() async throws {
        try await serveChanged { database in
            var bytes = try Data(contentsOf: URL(fileURLWithPath: database))
            bytes.replaceSubrange(100..<4096, with: Data(repeating: 0xaa, count: 3996))
            try bytes.write(to: URL(fileURLWithPath: database))
        } _: { finished, database in
            expectOneLine(finished, naming: database)
        }
    }

    @Test func `A database that was cut off`() async throws {
        try await serveChanged { database in
            let bytes = try Data(contentsOf: URL(fileURLWithPath: database))
            try bytes.prefix(6000).write(to: URL(fileURLWithPath: database))
        } _: { finished, database in
            expectOneLine(finished, naming: database)
        }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("sqlite3")))
    func `A database of a newer version`() async throws {
        try await serveChanged { database in
            let changed = try await ChildProcess.run(
                "sqlite3", [database, "INSERT INTO grdb_migrations VALUES ('of a later version')"])
            try #require(changed.status == 0, "\(changed.errors)")
        } _: { finished, database in
            expectOneLine(finished, naming: database, "newer")
        }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("sqlite3")))
    func `Another programs database`() async throws {
        try await withTemporaryFolder { folder in
            let database = folder + "/carillon.sqlite"
            let made = try await ChildProcess.run("sqlite3", [database, "CREATE TABLE mine (x)"])
            try #require(made.status == 0, "\(made.errors)")
            let before = try Data(contentsOf: URL(fileURLWithPath: database))
            expectOneLine(try await serve(data: folder), naming: database)
            #expect(try Data(contentsOf: URL(fileURLWithPath: database)) == before)
        }
    }

    // MARK: Options and settings

    @Test(arguments: [
        ["--ports", "nonsense"], ["--environment", "staging"], ["--conformance", "lax"], ["--nonsense"], ["more"],
    ])
    func `A wrong option`(options: [String]) async throws {
        try await withTemporaryFolder { folder in
            let finished = try await serve(data: folder + "/data", options)
            #expect(finished.status != 0)
            #expect(finished.output.isEmpty)
            let lines = finished.errors.split(separator: "\n")
            #expect(lines.count == 1)
            #expect(lines.allSatisfy { line in options.contains { line.contains($0) } })
            #expect(!FileManager.default.fileExists(atPath: folder + "/data"))
        }
    }

    @Test(arguments: [
        ("CARILLON_LIMIT_HANDSHAKE_TIMEOUT", "soon"), ("CARILLON_LIMIT_HANDSHAKE_TIMEOUT", "-1"),
        ("CARILLON_LIMIT_HANDSHAKE_TIMEOUT", "nan"), ("CARILLON_LIMIT_RETENTION", "0"),
        ("CARILLON_LIMIT_PENDING_STORES", "few"),
        ("CARILLON_LIMIT_IDLE_TIMEOUT", "99999999999999999999"), ("CARILLON_EVENT_LOOPS", "0"),
        ("CARILLON_PORTS", "nonsense"), ("CARILLON_CONFORMANCE", "lax"), ("CARILLON_ENVIRONMENT", "staging"),
        ("CARILLON_ENVIRONMENT_KEY_REASON", "Forbidden"),
    ])
    func `A wrong setting`(name: String, value: String) async throws {
        try await withTemporaryFolder { folder in
            // An option would override the variable, so leave it out.
            let options = name == "CARILLON_PORTS" ? [] : ["--ports", "ephemeral"]
            let finished = try await serve(data: folder + "/data", options, environment: [name: value])
            expectOneLine(finished, naming: value)
            let key = name.dropFirst("CARILLON_".count).split(separator: "_").last.map { $0.lowercased() } ?? ""
            #expect(finished.errors.contains(key))
            #expect(!FileManager.default.fileExists(atPath: folder + "/data"))
        }
    }

    @Test(arguments: ["CARILLON_LIMIT_TOKN_RATE", "CARILLON_PROTS"])
    func `A variable that there is not`(_ name: String) async throws {
        try await withTemporaryFolder { folder in
            let finished = try await serve(
                data: folder + "/data", ["--ports", "ephemeral"], environment: [name: "5"])
            expectOneLine(finished, naming: name, "docs/settings.md")
        }
    }

    /// Variables that Kubernetes sets because of a service with this name, and those of other commands.
    @Test func `Variables of others`() async throws {
        let environment = [
            "CARILLON_SERVICE_HOST": "10.0.0.1", "CARILLON_PORT": "tcp://10.0.0.1:2197", "CARILLON_AGENT_SOCKET": "/s",
            "CARILLON_PORT_2197_TCP_ADDR": "10.0.0.1", "CARILLON_MANAGEMENT_URL": "http://10.0.0.1:2198",
            "CARILLON_PROVIDER_STORE": "sqlite", "CARILLON_PROVIDER_LIMIT_IDLE_TIMEOUT": "60",
        ]
        try await CarillonProcess.with(environment: environment) { service in
            #expect(await service.stop().status == 0)
        }
    }

    /// Limits that were settings, in the settings file and in the environment.
    @Test func `A setting that is gone is ignored with a warning, so that an upgrade starts`() async throws {
        try await withTemporaryFolder { folder in
            let file = folder + "/settings.json"
            try Data(#"{"carillon":{"limit":{"binary-unanswered":50,"token-rate":5}}}"#.utf8)
                .write(to: URL(fileURLWithPath: file))
            let environment = ["CARILLON_CONFIG": file, "CARILLON_LIMIT_LOG_QUEUE": "100"]
            try await CarillonProcess.with(environment: environment) { service in
                let ended = await service.stop()
                #expect(ended.status == 0)
                let warnings = ended.errors.split(separator: "\n").filter { $0.contains("no longer has a setting") }
                #expect(warnings.count == 2, "\(ended.errors)")
                for name in ["limit.binary-unanswered", "limit.log-queue"] {
                    #expect(warnings.contains { $0.contains("warning") && $0.contains(name) })
                }
            }
        }
    }

    private func serve(settings: String, _ options: [String] = []) async throws -> ChildProcess.Finished {
        try await withTemporaryFolder { folder in
            try Data(settings.utf8).write(to: URL(fileURLWithPath: folder + "/settings.json"))
            return try await serve(data: folder + "/data", options + ["--config", folder + "/settings.json"])
        }
    }

    @Test(arguments: [
        (#"{"carillon":{"limit":{"token-rate":5,"tokn-rate":5}}}"#, "limit.tokn-rate"),
        (#"{"carillon":{"prots":"ephemeral"}}"#, "prots"),
        (#"{"carillon":{"tls":{"cert":"x"}}}"#, "tls.cert"),
        (#"{"carillon":{"limit.token-rate":5}}"#, "limit.token-rate"),
        (#"{"ports":"ephemeral"}"#, #""carillon""#),
        (#"{"carillon":["ports"]}"#, #""carillon""#),
        (#"{"carillon":{"ports":2197}}"#, "The setting ports takes a text"),
        (#"{"carillon":{"management":2198}}"#, "The setting management takes a text"),
        (#"{"carillon":{"management":true}}"#, "The setting management takes a text"),
        (#"{"carillon":{"hostname":"push.example.com"}}"#, "The setting hostname takes a list of texts"),
        (#"{"carillon":{"event-loops":[1]}}"#, "The setting event-loops takes"),
        (#"{"carillon":{"limit":{"retention":true}}}"#, "The setting limit.retention takes neither"),
        ("ports = ephemeral", "is not JSON"), ("[1]", "not contain a JSON dictionary"),
        ("{\n\"carillon\": {\n  \"ports\"\n}}", "is not JSON"),
    ])
    func `A settings file that says nothing`(_ settings: String, _ words: String) async throws {
        let finished = try await serve(settings: settings)
        expectOneLine(finished, naming: words)
        for raw in ["NSCocoaErrorDomain", "Error Domain", "couldn’t be", "ConfigError"] {
            #expect(!finished.errors.contains(raw), "\(finished.errors)")
        }
    }

    @Test func `A settings file that is not there`() async throws {
        try await withTemporaryFolder { folder in
            let finished = try await serve(
                data: folder + "/data", ["--ports", "ephemeral", "--config", folder + "/none.json"])
            expectOneLine(finished, naming: folder + "/none.json", "No such file")
        }
    }
}
