import CommonTesting
import Foundation
import Notifications
import Service
import Synchronization
import Testing

@testable import ServiceTesting

/// Kills the gateway with `kill -9` at random moments under load (docs/gateway.md). `script/crash --gateway --times N` does
/// this more often.
@Suite(.timeLimit(.minutes(240))) struct GatewayCrashTests {
    private static let times = ProcessInfo.processInfo.environment["CARILLON_CRASHES"].flatMap(Int.init) ?? 3
    private static let bundleID = "com.example.app"
    private static let clients = 8

    /// What the clients were told, over all rounds.
    private final class Account: Sendable {
        struct Numbers {
            var next = 0
            /// How many requests the present gateway has answered.
            var answered = 0
            /// The identifiers of the requests that were answered with 200, by the number in the payload.
            var accepted: [Int: String] = [:]
        }

        let numbers = Mutex(Numbers())

        func next() -> Int {
            numbers.withLock { numbers in
                numbers.next += 1
                return numbers.next
            }
        }
    }

    @Test
    func `Every 200 is the upstream's, and nothing is sent twice under two identifiers`() async throws {
        let environment = ["CARILLON_LIMIT_TOKEN_RATE": "0"]
        try await withTemporaryFolder { folder in
            try await CarillonProcess.with(
                data: folder + "/apple", ["--journal", "100000"], environment: environment
            ) { apple in
                let token = try await apple.register(Self.bundleID, on: try await apple.activate())
                let account = Account()
                var (provider, handle): (Provider?, String) = (nil, "")
                for _ in 0..<Self.times {
                    try await CarillonProcess.with(data: folder + "/gateway") { gateway in
                        if provider == nil { (provider, handle) = try await setUp(gateway, apple, token, folder) }
                        let provider = try provider.orThrow("no provider")
                        try await load(gateway, provider, handle, account, killingAfter: Int.random(in: 1...300))
                        #expect(await gateway.child.finished().status == 128 + SIGKILL)
                    }
                }
                try await check(account, apple)
            }
        }
    }

    private func setUp(
        _ gateway: CarillonProcess,
        _ apple: CarillonProcess,
        _ token: String,
        _ folder: String,
    ) async throws -> (Provider, handle: String) {
        let key = try apple.developmentKey
        let set = try await gateway.carillon(
            "app", "upstream", "set", "--bundle-id", Self.bundleID, "--environment", "development", "--url",
            "https://\(try apple.addresses(.development).provider)", "--ca", apple.ready.ca, "--key-file", key.path,
            "--key-id", key.keyID, "--team-id", key.teamID)
        try #require(set.status == 0, "\(set.errors)")
        let made = try await gateway.carillon(
            "grant", "create", "--bundle-id", Self.bundleID, "--name", "instance", "--out", folder)
        let values = try ["clientKey", "teamID", "keyID", "path"].map { try #require(made.object[$0]?.text) }
        let body = #"{"bundleID":"\#(Self.bundleID)","environment":"development","token":"\#(token)"}"#
        let answer = try await Curl.request(
            "POST", "https://\(try gateway.addresses(.development).provider)/1/handles", ca: gateway.ready.ca,
            headers: [("authorization", "bearer \(values[0])")], body: Array(body.utf8))
        let handle = try #require(try answer.json["handle"]?.text)
        return (try Provider(teamID: values[1], keyID: values[2], keyFile: values[3]), handle)
    }

    /// Sends until the gateway is killed.
    private func load(
        _ gateway: CarillonProcess,
        _ provider: Provider,
        _ handle: String,
        _ account: Account,
        killingAfter count: Int,
    ) async throws {
        account.numbers.withLock { $0.answered = 0 }
        let push = try WirePush(token: handle, topic: Self.bundleID, from: provider)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.clients {
                group.addTask {
                    // The gateway may be gone already.
                    guard let connection = try? await gateway.connect() else { return }
                    while await send(push, account, over: connection) {
                        let isLast = account.numbers.withLock { numbers in
                            numbers.answered += 1
                            return numbers.answered == count
                        }
                        if isLast { gateway.child.signal(SIGKILL) }
                    }
                    await connection.close()
                }
            }
        }
    }

    /// - Returns: Whether the gateway answered.
    private func send(_ push: WirePush, _ account: Account, over connection: WireClient) async -> Bool {
        var push = push
        let (number, id) = (account.next(), UUID().uuidString.lowercased())
        push["apns-id"] = id
        push.payload(#"{"aps":{"badge":\#(number)}}"#)
        // Without an answer, nothing was promised.
        guard let answer = try? await connection.send(push) else { return false }
        #expect([200, 503].contains(answer.status), "\(answer.body)")
        if answer.status == 200 {
            #expect(answer["apns-id"] == id)
            account.numbers.withLock { $0.accepted[number] = id }
        }
        return true
    }

    private func check(_ account: Account, _ apple: CarillonProcess) async throws {
        let numbers = account.numbers.withLock { $0 }
        #expect(!numbers.accepted.isEmpty)
        let listed = try await BuiltCommand.run(["requests", "--data", apple.data, "--json"])
        var seen: [Int: Set<String>] = [:]
        var accepted: Set<String> = []
        for line in listed.output.split(separator: "\n") {
            let request = try FoundationJSON(String(line))
            guard let id = request["apnsID"]?.text?.lowercased(),
                let number = request["payload"]?["aps"]?["badge"]?.number.map({ Int($0) })
            else { continue }
            seen[number, default: []].insert(id)
            if request["status"] == 200 { accepted.insert(id) }
        }
        for (number, id) in numbers.accepted {
            #expect(accepted.contains(id), "\(number) was answered 200, and the upstream has not accepted it")
        }
        for (number, ids) in seen { #expect(ids.count == 1, "\(number) was sent with \(ids.count) identifiers") }
        print("killed the gateway \(Self.times) times: \(numbers.accepted.count) answered 200, \(seen.count) sent")
    }
}
