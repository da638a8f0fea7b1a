import CommonTesting
import Foundation
import Synchronization
import Testing

@testable import ServiceTesting

/// Kills the service with `kill -9` at random moments while application servers send, and checks every 201: the message comes,
/// in its order (RFC 8030, 5). `script/crash --web-push` does this more often.
@Suite(.timeLimit(.minutes(240))) struct CrashUnderWebPushTests {
    private static let times = ProcessInfo.processInfo.environment["CARILLON_CRASHES"].flatMap(Int.init) ?? 4
    private static let bundleID = "com.example.app"
    private static let arguments = ["--web-push", "127.0.0.1:0"]
    private static let environment = [
        "CARILLON_LIMIT_WEB_PUSH_ADDRESS_RATE": "0", "CARILLON_LIMIT_WEB_PUSH_ENDPOINT_RATE": "0",
    ]
    /// Fewer than a queue keeps, so that none has to go.
    private static let maximumOpen = 90

    /// One subscription, and the messages that it must get. They are numbered and sent one after the other.
    private final class Subscription: Sendable {
        struct Account {
            var sent = 0
            /// The numbers that were answered with 201 and have not come yet.
            var open: Set<Int> = []
            /// The highest number that has come and was acknowledged.
            var taken = 0
        }

        let name: String
        let path: String
        let account = Mutex(Account())

        init(name: String, path: String) {
            self.name = name
            self.path = path
        }

        /// - Returns: nil if the queue could be full.
        func next() -> Int? {
            account.withLock { account in
                guard account.sent - account.taken < maximumOpen else { return nil }
                account.sent += 1
                return account.sent
            }
        }

        func accepted(_ number: Int) {
            account.withLock { if number > $0.taken { $0.open.insert(number) } }
        }

        func take(_ number: Int) {
            account.withLock { account in
                account.taken = max(account.taken, number)
                account.open = account.open.filter { $0 > number }
            }
        }
    }

    private struct Device: Sendable {
        let identity: String
        let subscriptions: [Subscription]
        /// Whether the device is connected while the service is under load.
        let isOnline: Bool
    }

    @Test func `No 201 is lost, however often the service is killed`() async throws {
        try await withTemporaryFolder { folder in
            var devices: [Device] = []
            var accepted = 0
            for round in 0...Self.times {
                try await CarillonProcess.with(
                    data: folder + "/data", Self.arguments, environment: Self.environment
                ) { service in
                    if round == 0 { devices = try await makeDevices(service, in: folder) }
                    for device in devices { try await check(device, on: service, round) }
                    guard round < Self.times else { return }
                    accepted += try await load(service, devices, killingAfter: Int.random(in: 1...300))
                    let finished = await service.child.finished()
                    #expect(finished.status == 128 + SIGKILL, "\(finished.errors)")
                }
            }
            print("killed \(Self.times) times: \(accepted) messages accepted, all accounted for")
        }
    }

    private func makeDevices(_ service: CarillonProcess, in folder: String) async throws -> [Device] {
        var devices: [Device] = []
        for index in 0..<4 {
            let identity = try await service.activate()
            _ = try await service.register(Self.bundleID, on: identity)
            var subscriptions: [Subscription] = []
            for name in ["a", "b"] {
                let made = try await service.carillon(
                    "device", "subscribe", "--identity", identity, "--bundle-id", Self.bundleID, "--name", name,
                    "--out", "\(folder)/\(index)\(name).json")
                let endpoint = try made.object["endpoint"]?.text.orThrow(made.errors) ?? ""
                subscriptions.append(
                    Subscription(name: name, path: try (URL(string: endpoint)?.path).orThrow("no path: \(endpoint)")))
            }
            devices.append(Device(identity: identity, subscriptions: subscriptions, isOnline: index == 0))
        }
        return devices
    }

    // MARK: Load

    /// Sends to all subscriptions until the service is killed, or their queues could be full.
    /// - Returns: how many messages were answered with 201.
    private func load(
        _ service: CarillonProcess,
        _ devices: [Device],
        killingAfter count: Int,
    ) async throws -> Int {
        let answered = Counter()
        let address =
            try FoundationJSON(service.readyLine)["development"]?["webPush"]?.text.orThrow("no Web Push") ?? ""
        let port = try service.port(of: address)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for device in devices where device.isOnline {
                group.addTask { await listen(device, service) }
            }
            group.addTask {
                await withTaskGroup(of: Void.self) { senders in
                    for subscription in devices.flatMap(\.subscriptions) {
                        senders.addTask {
                            // The service may be gone already.
                            let connected = try? await WireClient.connect(port: port, authorityFile: service.ready.ca)
                            guard let connection = connected else { return }
                            while await send(to: subscription, over: connection) {
                                if answered.next() == count { service.child.signal(SIGKILL) }
                            }
                            await connection.close()
                        }
                    }
                }
                // If all queues are full before, the service is killed while it rests.
                service.child.signal(SIGKILL)
            }
            try await group.waitForAll()
        }
        return answered.count
    }

    /// - Returns: Whether the service answered.
    private func send(to subscription: Subscription, over connection: WireClient) async -> Bool {
        guard let number = subscription.next() else { return false }
        var push = WirePush(token: "", topic: "", authorization: "")
        push.path = subscription.path
        push.headers = [("ttl", "86400"), ("content-encoding", "aes128gcm")]
        push.payload("\(number)")
        // Without an answer, it is unknown whether the message was accepted.
        guard let answer = try? await connection.send(push) else { return false }
        #expect(answer.status == 201, "\(answer.body)")
        subscription.accepted(number)
        return true
    }

    /// Receives and acknowledges messages until the service is gone.
    private func listen(_ device: Device, _ service: CarillonProcess) async {
        guard let connection = try? await WireDevice(service, identity: device.identity) else { return }
        while let text = try? await connection.nextLine() {
            guard let line = try? FoundationJSON(text), let (subscription, number) = message(line, device) else {
                break
            }
            subscription.take(number)
            // Without an answer, it is unknown whether the acknowledgement arrived.
            try? await connection.acknowledge(line)
        }
        await connection.close()
    }

    // MARK: Accounts

    /// Checks that all accepted messages come, those of a subscription in their order.
    private func check(_ device: Device, on service: CarillonProcess, _ round: Int) async throws {
        func isComplete() -> Bool { device.subscriptions.allSatisfy { $0.account.withLock { $0.open.isEmpty } } }
        guard !isComplete() else { return }
        let connection = try await WireDevice(service, identity: device.identity)
        var last: [String: Int] = [:]
        while !isComplete() {
            let line = try FoundationJSON(
                try await connection.nextLine().orThrow("the stream ended in round \(round)"))
            let (subscription, number) = try message(line, device).orThrow("no message: \(line)")
            #expect(number > last[subscription.name, default: 0], "round \(round)")
            last[subscription.name] = number
            let due = subscription.account.withLock { $0.open.min() }
            #expect(due.map { number <= $0 } != false, "\(due ?? 0) is lost, round \(round)")
            subscription.take(number)
            try await connection.acknowledge(line)
        }
        await connection.close()
    }

    private func message(_ line: FoundationJSON, _ device: Device) -> (Subscription, Int)? {
        guard let name = line["subscription"]?.text, let text = line["webPush"]?["body"]?.text,
            let subscription = device.subscriptions.first(where: { $0.name == name }),
            // Padding is left out.
            let body = Data(base64Encoded: text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)),
            let number = Int(String(decoding: body, as: UTF8.self))
        else { return nil }
        return (subscription, number)
    }
}
