import CommonTesting
import Foundation
import Synchronization
import Testing

@testable import ServiceTesting

/// Kills the service with `kill -9` at random moments under load, and checks every 200 (Guide, 2.1.3). `script/crash
/// --times N` does this more often.
@Suite(.timeLimit(.minutes(240))) struct CrashUnderLoadTests {
    private static let times =
        ProcessInfo.processInfo.environment["CARILLON_CRASHES"].flatMap(Int.init) ?? 20
    private static let bundleID = "com.example.app"
    private static let environment = ["CARILLON_LIMIT_TOKEN_RATE": "0"]

    /// One device, and the notifications that it must get. They are numbered and sent one after the other.
    private final class Device: Sendable {
        struct Account {
            var sent = 0
            /// The number of the newest notification that was answered with 200.
            var accepted = 0
            /// The number of the newest notification that the device has received and acknowledged.
            var taken = 0
        }

        let identity: String
        let token: String
        /// Whether the device is connected while the service is under load.
        let isOnline: Bool
        let account = Mutex(Account())

        init(identity: String, token: String, isOnline: Bool) {
            self.identity = identity
            self.token = token
            self.isOnline = isOnline
        }

        func next() -> Int {
            account.withLock { account in
                account.sent += 1
                return account.sent
            }
        }

        func take(_ number: Int) { account.withLock { $0.taken = max($0.taken, number) } }
    }

    @Test
    func `No 200 is lost, however often the service is killed`() async throws {
        try await withTemporaryFolder { folder in
            let data = folder + "/data"
            var devices: [Device] = []
            var accepted = 0
            for round in 0...Self.times {
                try await CarillonProcess.with(data: data, environment: Self.environment) { service in
                    if round == 0 { devices = try await makeDevices(service) }
                    try await check(devices, on: service, round)
                    guard round < Self.times else { return }
                    let count = Int.random(in: 1...400)
                    accepted += try await load(service, devices, killingAfter: count)
                    let finished = await service.child.finished()
                    #expect(finished.status == 128 + SIGKILL, "\(finished.errors)")
                }
            }
            // The delivery log can be read after all these crashes.
            let log = try await BuiltCommand.run(["log", "--data", data, "--json"])
            #expect(log.status == 0)
            let lines = log.output.split(separator: "\n").count { $0.contains(#""event":"accepted""#) }
            #expect(lines > 0)
            print("killed \(Self.times) times under load: \(accepted) notifications accepted, all accounted for")
        }
    }

    private func makeDevices(_ service: CarillonProcess) async throws -> [Device] {
        try await withThrowingTaskGroup(of: Device.self) { group in
            for index in 0..<12 {
                group.addTask {
                    let identity = try await service.activate()
                    let token = try await service.register(Self.bundleID, on: identity)
                    return Device(identity: identity, token: token, isOnline: index < 3)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    // MARK: Load

    /// Sends to all devices until the service is killed.
    /// - Returns: how many notifications were answered with 200.
    private func load(
        _ service: CarillonProcess,
        _ devices: [Device],
        killingAfter count: Int,
    ) async throws -> Int {
        let answered = Counter()
        let provider = try service.developmentProvider
        try await withThrowingTaskGroup(of: Void.self) { group in
            for device in devices {
                let push = try WirePush(token: device.token, topic: Self.bundleID, from: provider)
                group.addTask {
                    // The service may be gone already.
                    guard let connection = try? await service.connect() else { return }
                    while await send(push, to: device, over: connection) {
                        // Kill the service when this many requests are answered, whatever it is doing.
                        if answered.next() == count { service.child.signal(SIGKILL) }
                    }
                    await connection.close()
                }
                if device.isOnline { group.addTask { await listen(device, service) } }
            }
            try await group.waitForAll()
        }
        return answered.count
    }

    /// - Returns: Whether the service answered.
    private func send(_ push: WirePush, to device: Device, over connection: WireClient) async -> Bool {
        var push = push
        let number = device.next()
        push.payload(#"{"aps":{"alert":"\#(number)"}}"#)
        // Without an answer, it is unknown whether the request was accepted.
        guard let answer = try? await connection.send(push) else { return false }
        #expect(answer.status == 200, "\(answer.body)")
        device.account.withLock { $0.accepted = number }
        return true
    }

    /// Receives and acknowledges notifications until the service is gone.
    private func listen(_ device: Device, _ service: CarillonProcess) async {
        guard let connection = try? await WireDevice(service, identity: device.identity) else { return }
        while let text = try? await connection.nextLine() {
            guard let line = try? FoundationJSON(text), let number = number(line) else { break }
            device.take(number)
            // Without an answer, it is unknown whether the acknowledgement arrived.
            try? await connection.acknowledge(line)
        }
        await connection.close()
    }

    // MARK: Accounts

    /// Checks that each device has, or gets, the newest accepted notification, or a newer one whose 200 was under way.
    private func check(_ devices: [Device], on service: CarillonProcess, _ round: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, device) in devices.enumerated() {
                let account = device.account.withLock { $0 }
                guard account.accepted > account.taken else { continue }
                group.addTask {
                    let connection = try await WireDevice(service, identity: device.identity)
                    let line = try FoundationJSON(
                        try await connection.nextLine().orThrow("the stream ended in round \(round)"))
                    let number = try number(line).orThrow("no number: \(line)")
                    #expect(number >= account.accepted, "round \(round)")
                    #expect(number <= account.sent, "round \(round)")
                    // Some devices take their notification now. The others go on waiting, through the next crash too.
                    if (round + index).isMultiple(of: 4) {
                        try await connection.acknowledge(line)
                        device.take(number)
                    }
                    await connection.close()
                }
            }
            try await group.waitForAll()
        }
    }

    private func number(_ line: FoundationJSON) -> Int? {
        line["payload"]?["aps"]?["alert"]?.text.flatMap { Int($0) }
    }
}
