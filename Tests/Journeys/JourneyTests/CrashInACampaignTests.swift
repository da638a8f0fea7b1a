import CommonTesting
import Foundation
import GRDB
import Testing

#if PostgreSQL
    import PostgresClient
    import PostgresTesting
#endif

@testable import ServiceTesting

/// Kills the provider server with `kill -9` in the middle of a campaign, and counts what each recipient got.
@Suite(.timeLimit(.minutes(60))) struct CrashInACampaignTests {
    private static let times = ProcessInfo.processInfo.environment["CARILLON_CRASHES"].flatMap(Int.init) ?? 3
    private static let bundleID = "com.example.shop"
    private static let recipients = 400

    enum Store: Sendable, CaseIterable {
        case sqlite
        #if PostgreSQL
            case postgresql
        #endif
    }

    /// A place for the data of a server: its folder, and the URL of its database if it has one.
    private struct Place {
        let data: String
        var url: String?

        init(_ store: Store, _ data: String) async throws {
            self.data = data
            #if PostgreSQL
                guard store == .postgresql else { return }
                url = try await TestServer.makeURL()
                try String(repeating: "5a", count: 32).write(toFile: keyFile, atomically: true, encoding: .utf8)
            #endif
        }

        private var keyFile: String { data + ".store.key" }

        var arguments: [String] { url.map { ["--store", $0, "--store-key-file", keyFile] } ?? [] }
    }

    /// Runs `carillon provider serve` while `body` runs, and kills it afterwards.
    private static func serve(_ place: Place, _ body: () async throws -> Void) async throws {
        try await serve(place) { _ in try await body() }
    }

    private static func serve<Value>(
        _ place: Place,
        _ body: (ChildProcess) async throws -> Value,
    ) async throws -> Value {
        let arguments =
            ["provider", "serve", "--json", "--listen", "127.0.0.1:0", "--data", place.data] + place.arguments
        return try await ChildProcess.with(BuiltCommand.path, arguments) { child in
            guard let line = await child.output.nextLine() else {
                throw UnexpectedOutput(description: await child.finished().errors)
            }
            #expect(try FoundationJSON(line).keys == ["event", "url", "keyFile"])
            return try await body(child)
        }
    }

    /// Runs a subcommand, and returns the objects that it prints.
    private static func provider(
        _ data: String, _ arguments: String..., input: String = ""
    ) async throws -> [FoundationJSON] {
        let finished = try await BuiltCommand.run(
            ["provider"] + arguments + ["--json", "--data", data], input: Array(input.utf8))
        guard finished.status == 0 else { throw UnexpectedOutput(description: finished.errors) }
        return try finished.output.split(separator: "\n").map { try FoundationJSON($0) }
    }

    /// The installations whose 200 is on the disk.
    private static func heard(_ place: Place) async throws -> Set<Int> {
        #if PostgreSQL
            if let url = place.url {
                let connection = PostgresConnection(try PostgresLocation(url), name: "test")
                let rows = try await connection.execute(
                    """
                    SELECT i.id FROM carillon_provider.outcome o
                    JOIN carillon_provider.installation i ON i.number = o.installation WHERE o.status = 200
                    """)
                await connection.close()
                return Set(rows.map { row in row.text(0).flatMap { Int($0.dropFirst()) } ?? -1 })
            }
        #endif
        let queue = try DatabaseQueue(path: place.data + "/provider.sqlite")
        defer { try? queue.close() }
        return try await queue.read { database in
            Set(
                try String.fetchAll(
                    database,
                    sql: """
                        SELECT i.id FROM outcome o JOIN installation i ON i.number = o.installation
                        WHERE o.status = 200
                        """
                ).compactMap { Int($0.dropFirst()) })
        }
    }

    /// How often Carillon got a notification for each device token, and with which identifiers.
    private static func received(_ service: CarillonProcess) async throws -> [String: [String]] {
        let finished = try await service.carillon("requests")
        var received: [String: [String]] = [:]
        for line in finished.output.split(separator: "\n") {
            let request = try FoundationJSON(line)
            guard let token = request["token"]?.text, let id = request["apnsID"]?.text else { continue }
            received[token, default: []].append(id)
        }
        return received
    }

    @Test(arguments: Store.allCases)
    func `However often it is killed, all get it, and nobody whose 200 was on the disk gets it again`(
        _ store: Store
    )
        async throws
    {
        let arguments = ["--store", "memory"]
        try await CarillonProcess.with(arguments, environment: ["CARILLON_LIMIT_TOKEN_RATE": "0"]) { service in
            let data = service.data + "-provider"
            let tokens = try await Self.prepare(service, data)
            let place = try await Place(store, data)
            var id = ""
            var heard: [(numbers: Set<Int>, counts: [String: Int])] = []
            for round in 0..<Self.times {
                try await Self.serve(place) {
                    if round == 0 { id = try await Self.send(data, tokens) }
                    let share = (round + 1) * Self.recipients / (Self.times + 1)
                    let enough = Int.random(in: 1...share)
                    try await wait(while: try await Self.accepted(data, id) < enough)
                }
                heard.append((try await Self.heard(place), try await Self.received(service).mapValues(\.count)))
            }
            try await Self.serve(place) {
                // On a slow machine the message may have finished meanwhile, and has no rate any more.
                _ = try await BuiltCommand.run(["provider", "message", "rate", id, "--data", data])
                try await wait(
                    while: try await Self.provider(data, "message", "show", id).first?["state"] != "finished")
                // The count of the outcomes is not above the number of recipients, although some got it again.
                #expect(try await Self.accepted(data, id) == Self.recipients)
            }
            let received = try await Self.received(service)
            #expect(try await Self.heard(place).count == Self.recipients)
            #expect(Set(received.keys) == Set(tokens))
            for (token, ids) in received { #expect(Set(ids).count == 1, "\(token) got several identifiers") }
            #expect(Set(received.values.compactMap(\.first)).count == Self.recipients)
            for (numbers, counts) in heard {
                #expect(!numbers.isEmpty)
                for number in numbers { #expect(received[tokens[number]]?.count == counts[tokens[number]]) }
            }
        }
    }

    @Test(arguments: Store.allCases)
    func `After SIGTERM it ends before all is sent, and the next one sends the rest and nothing twice`(
        _ store: Store
    ) async throws {
        let arguments = ["--store", "memory"]
        try await CarillonProcess.with(arguments, environment: ["CARILLON_LIMIT_TOKEN_RATE": "0"]) { service in
            let data = service.data + "-provider"
            let tokens = try await Self.prepare(service, data)
            let place = try await Place(store, data)
            var id = ""
            try await Self.serve(place) { child in
                // Slow enough that the server does not end before SIGTERM because everything was sent.
                id = try await Self.send(data, tokens, rate: 10)
                try await wait(while: try await Self.accepted(data, id) == 0)
                child.signal(SIGTERM)
                let finished = await child.finished()
                #expect(finished.status == 0, "\(finished.errors)")
            }
            let heard = try await Self.heard(place)
            let early = try await Self.received(service)
            // Every answer is on the disk.
            #expect(Set(heard.map { tokens[$0] }) == Set(early.keys))
            #expect(!heard.isEmpty && heard.count < Self.recipients)
            try await Self.serve(place) {
                _ = try await Self.provider(data, "message", "rate", id)
                try await wait(
                    while: try await Self.provider(data, "message", "show", id).first?["state"] != "finished")
                #expect(try await Self.accepted(data, id) == Self.recipients)
            }
            let received = try await Self.received(service)
            #expect(Set(received.keys) == Set(tokens) && received.values.allSatisfy { $0.count == 1 })
        }
    }

    /// Makes the app and its devices in both servers.
    /// - Returns: The device tokens.
    private static func prepare(_ service: CarillonProcess, _ data: String) async throws -> [String] {
        let devices = Array(repeating: "{}", count: recipients).joined(separator: ",")
        let fixture = """
            {"teams":[{"teamID":"ABCDE12345","name":"Shop","apps":["\(bundleID)"],"keys":[{"keyID":"KEY1234567"}],
            "devices":[\(devices)]}]}
            """
        let made = try await service.carillon("fixture", "create", "-", input: Array(fixture.utf8))
        let document = try FoundationJSON(made.output)
        guard case .array(let teams)? = document["teams"], let team = teams.first,
            case .array(let keys)? = team["keys"], let key = keys.first?["privateKey"]?.text,
            case .array(let devices)? = team["devices"]
        else { throw UnexpectedOutput(description: made.errors) }
        try key.write(toFile: data + ".p8", atomically: true, encoding: .utf8)
        return try devices.map { try $0["tokens"]?[bundleID]?.text.orThrow("no token") ?? "" }
    }

    /// Makes the app and its installations in the provider server, and sends a message to all.
    private static func send(_ data: String, _ tokens: [String], rate: Int = 200) async throws -> String {
        let service = String(data.dropLast("-provider".count))
        let description = try ServiceDescriptionFile.read(service)
        _ = try await provider(
            data, "app", "put", bundleID, "--environment", "development", "--team-id", "ABCDE12345", "--key-id",
            "KEY1234567", "--key-file", data + ".p8", "--url", "https://\(description.provider)", "--authority",
            description.ca)
        let lines = tokens.enumerated().map { number, token in
            #"{"id":"i\#(number)","deviceToken":"\#(token)","environment":"development"}"#
        }
        let file = data + ".ndjson"
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let report = try await provider(data, "installation", "import", file, "--bundle-id", bundleID)
        #expect(report.last?["imported"]?.number == Double(tokens.count))
        let sent = try await provider(
            data, "message", "send", "-",
            input:
                #"{"bundleID":"\#(bundleID)","audience":{"everybody":true},"payload":{"aps":{"alert":"x"}},"rate":\#(rate)}"#
        )
        return try sent.first?["id"]?.text.orThrow("no identifier") ?? ""
    }

    private static func accepted(_ data: String, _ id: String) async throws -> Int {
        Int(try await provider(data, "message", "show", id).first?["accepted"]?.number ?? 0)
    }
}

/// Where a running Carillon listens.
private struct ServiceDescriptionFile {
    let provider: String
    let ca: String

    static func read(_ folder: String) throws -> ServiceDescriptionFile {
        let value = try FoundationJSON(try Data(contentsOf: URL(fileURLWithPath: folder + "/service.json")))
        return ServiceDescriptionFile(
            provider: try value["development"]?["provider"]?.text.orThrow("no address") ?? "",
            ca: try value["ca"]?.text.orThrow("no authority") ?? "")
    }
}
