import APNSDevice
import CommonTesting
import Foundation
import Logging
import Notifications
import Synchronization
import Testing

@testable import DeviceAgent
@testable import ServiceTesting

/// The distributor of UnifiedPush: a real session bus, and apps in Python.
@Suite(
    .startsPrograms, .enabled(if: DesktopSession.isPossible, "it needs dbus, python3-dbus and python3-gi"),
    .timeLimit(.minutes(2)))
struct DistributorTests {
    /// A distributor with its store and the service.
    private struct Rig {
        let distributor: Distributor
        let store: AgentStore
        let service: PlayedSubscriptions

        /// A message comes from the service.
        func receive(
            _ text: String, for endpoint: String, id: String = UUID().uuidString, topic: String? = nil
        )
            async throws
        {
            let name = try required(service.subscription(endpoint)?.name)
            let message = WebPushMessage(subscription: name, body: Array(text.utf8), topic: topic)
            _ = try store.add(message, id: id)
            await distributor.arrived(name)
        }
    }

    private func distribute(
        _ address: String,
        _ folder: String,
        _ service: PlayedSubscriptions = PlayedSubscriptions(),
        _ body: (Rig) async throws -> Void,
    ) async throws {
        let store = try AgentStore(folder: folder)
        let distributor = try Distributor(
            address: address, user: 1000, store: store, service: service,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { await distributor.run() }
        try await withCleanUp {
            await distributor.tried()
            #expect(distributor.nameState != .disconnected)
            try await body(Rig(distributor: distributor, store: store, service: service))
        } cleanUp: {
            await distributor.close()
            await running.value
            store.close()
        }
    }

    private func run(_ body: (Rig, String, String) async throws -> Void) async throws {
        try await withAgentFolder { folder in
            try await DesktopSession.runBus(folder) { address in
                try await distribute(address, folder) { rig in try await body(rig, address, folder) }
            }
        }
    }

    private static let vapid = String(
        decoding: Base64URL.encoded([4] + [UInt8](repeating: 7, count: 64)), as: UTF8.self)

    // MARK: The two versions

    @Test func `An app of version 2 registers, gets its endpoint and its messages, and leaves`() async throws {
        try await run { rig, address, _ in
            try await UnifiedPushApp.with(address, "org.example.Chat") { app in
                let answer = try await app.register("T1", vapid: Self.vapid)
                #expect(answer == ["success": "REGISTRATION_SUCCEEDED"])
                let told = try await app.next()
                #expect(told["call"] == "NewEndpoint" && told["token"] == "T1")
                let endpoint = try required(told["endpoint"]?.string)
                let subscription = try required(rig.service.subscription(endpoint))
                #expect(subscription.vapid == Self.vapid && !subscription.isPlain)
                // The service learns neither the app nor its token.
                #expect(!subscription.name.contains("Chat") && !subscription.name.contains("T1"))

                try await rig.receive("one", for: endpoint, id: "N1")
                try await rig.receive("two", for: endpoint, id: "N2")
                #expect(try await app.next() == ["call": "Message", "token": "T1", "message": "one", "id": "N1"])
                #expect(try await app.next() == ["call": "Message", "token": "T1", "message": "two", "id": "N2"])
                try await wait(while: try rig.store.messageCount() > 0)

                #expect(try await app.unregister("T1") == [:])
                #expect(try await app.next() == ["call": "Unregistered", "token": "T1"])
                try await wait(while: rig.service.subscription(endpoint) != nil)
                #expect(try rig.store.connectors().isEmpty)
            }
        }
    }

    @Test func `An app of version 1 registers for plain messages, gets them, and leaves`() async throws {
        try await run { rig, address, _ in
            try await UnifiedPushApp.with(address, "org.example.Old", version: 1) { app in
                #expect(try await app.register("T1") == ["values": ["NEW_ENDPOINT", ""]])
                let told = try await app.next()
                #expect(told["call"] == "NewEndpoint" && told["token"] == "T1")
                let endpoint = try required(told["endpoint"]?.string)
                #expect(rig.service.subscription(endpoint)?.isPlain == true)
                try await rig.receive("hello", for: endpoint, id: "N1")
                #expect(try await app.next() == ["call": "Message", "token": "T1", "message": "hello", "id": "N1"])
                try await wait(while: try rig.store.messageCount() > 0)
                #expect(try await app.unregister("T1") == ["values": []])
                #expect(try await app.next() == ["call": "Unregistered", "token": "T1"])
            }
        }
    }

    @Test func `A known token keeps its endpoint, also without a network; another key changes the subscription`()
        async throws
    {
        try await run { rig, address, _ in
            try await UnifiedPushApp.with(address, "org.example.Chat") { app in
                _ = try await app.register("T1")
                let endpoint = try required(try await app.next()["endpoint"]?.string)
                rig.service.state.withLock { $0.failure = DeviceError(.notConnected, "There is no network.") }
                #expect(try await app.register("T1") == ["success": "REGISTRATION_SUCCEEDED"])
                #expect(try await app.next()["endpoint"]?.string == endpoint)
                #expect(try await app.register("T2") == ["success": "REGISTRATION_FAILED", "reason": "NETWORK"])
                rig.service.state.withLock { $0.failure = nil }
                _ = try await app.register("T1", vapid: Self.vapid)
                #expect(try await app.next()["endpoint"]?.string == endpoint)
                #expect(rig.service.subscription(endpoint)?.vapid == Self.vapid)
            }
        }
    }

    // MARK: Who may what

    @Test func `An app registers for a name that it owns, and for a token of its own`() async throws {
        try await run { rig, address, _ in
            try await UnifiedPushApp.with(address, "org.example.Chat") { chat in
                try await UnifiedPushApp.with(address, "org.example.Mail") { mail in
                    let failed: JSONValue = ["success": "REGISTRATION_FAILED", "reason": "INTERNAL_ERROR"]
                    _ = try await chat.register("T1")
                    let endpoint = try required(try await chat.next()["endpoint"]?.string)
                    #expect(try await mail.register("T2", as: "org.example.Chat") == failed)
                    #expect(try await mail.register("T2", as: "org.example.Nobody") == failed)
                    #expect(try await mail.register("T1") == failed)
                    // What is not its own does not end, and it does not learn whether it is there.
                    #expect(try await mail.unregister("T1") == [:])
                    #expect(rig.service.subscription(endpoint) != nil)
                    #expect(try rig.store.connectors().count == 1)
                }
            }
        }
    }

    @Test func `A token, a name and a key that cannot be are an error`() async throws {
        try await run { rig, address, _ in
            try await UnifiedPushApp.with(address, "org.example.Chat") { app in
                let error: JSONValue = ["error": "org.freedesktop.DBus.Error.InvalidArgs"]
                let answer = try await app.register("")
                #expect(answer == error)
                #expect(try await app.register(String(repeating: "x", count: 101)) == error)
                #expect(try await app.register("T1", as: ":1.1") == error)
                #expect(try await app.register("T1", as: "chat") == error)
                #expect(try await app.register("T1", vapid: "AAAA") == error)
                // A key in another form must not make a subscription for everybody.
                for key in [4, [4, 7], ["AAAA"], true] as [JSONValue] {
                    #expect(try await app.register("T1", key: key) == error, "\(key)")
                }
                #expect(rig.service.state.withLock { $0.asked } == 0)
            }
        }
    }

    @Test func `An app that registers without end gets 20 registrations, and the others get theirs`() async throws {
        try await run { rig, address, _ in
            try await UnifiedPushApp.with(address, "org.example.Chat") { chat in
                for number in 1...AgentLimits.connectorsOfName {
                    #expect(try await chat.register("T\(number)") == ["success": "REGISTRATION_SUCCEEDED"])
                    _ = try await chat.next()
                }
                for number in 1...3 {
                    #expect(
                        try await chat.register("U\(number)")
                            == ["success": "REGISTRATION_FAILED", "reason": "INTERNAL_ERROR"])
                }
                #expect(rig.service.state.withLock { $0.asked } == AgentLimits.connectorsOfName)
                // One that ends makes room.
                _ = try await chat.unregister("T1")
                _ = try await chat.next()
                #expect(try await chat.register("U1") == ["success": "REGISTRATION_SUCCEEDED"])
                try await UnifiedPushApp.with(address, "org.example.Mail") { mail in
                    let answer = try await mail.register("V1")
                    #expect(answer == ["success": "REGISTRATION_SUCCEEDED"])
                }
            }
        }
    }

    // MARK: Faults

    @Test func `An app that never answers keeps its message, and the others get theirs`() async throws {
        try await withAgentFolder { folder in
            try await DesktopSession.runBus(folder) { address in
                let service = PlayedSubscriptions()
                try await UnifiedPushApp.with(address, "org.example.Mute") { mute in
                    try await distribute(address, folder, service) { rig in
                        try await mute.answers(false)
                        _ = try await mute.register("T1")
                        let silent = try required(try await mute.next()["endpoint"]?.string)
                        try await rig.receive("first", for: silent, id: "N1")
                        #expect(try await mute.next()["message"] == "first")
                        try await UnifiedPushApp.with(address, "org.example.Chat") { chat in
                            _ = try await chat.register("T2")
                            let endpoint = try required(try await chat.next()["endpoint"]?.string)
                            try await rig.receive("hello", for: endpoint)
                            #expect(try await chat.next()["message"] == "hello")
                        }
                        try await rig.receive("second", for: silent, id: "N2")
                        #expect(try rig.store.messageCount() == 2)
                    }
                    // After a restart of the agent the registration is there, and the messages come in their order.
                    try await mute.answers(true)
                    try await distribute(address, folder, service) { rig in
                        #expect(try await mute.next()["message"] == "first")
                        #expect(try await mute.next()["message"] == "second")
                        try await wait(while: try rig.store.messageCount() > 0)
                    }
                }
            }
        }
    }

    @Test(arguments: [1, 2]) func `The bus starts an app that does not run`(version: Int) async throws {
        try await withAgentFolder { folder in
            try UnifiedPushApp.makeActivatable("org.example.Chat", version: version, in: folder)
            try await DesktopSession.runBus(folder) { address in
                try await distribute(address, folder) { rig in
                    let connector = try await rig.distributor.register(
                        "org.example.Chat", "T1", nil, try required(Connector.Version(rawValue: Int64(version))),
                        isOwner: true)
                    try await rig.receive("hello", for: connector.endpoint, id: "N1")
                    try await wait(while: try rig.store.messageCount() > 0)
                    let lines = try await firstValue {
                        // The app makes the file when it is started.
                        (try? String(contentsOfFile: folder + "/told", encoding: .utf8)).flatMap {
                            $0.hasSuffix("\n") ? $0 : nil
                        }
                    }
                    let told = try required(JSONValue(Array(lines.utf8)))
                    #expect(told == ["call": "Message", "token": "T1", "message": "hello", "id": "N1"])
                }
            }
        }
    }

    @Test func `A bus that restarts loses nothing`() async throws {
        try await withAgentFolder { folder in
            let address = "unix:path=\(folder)/bus"
            let service = PlayedSubscriptions()
            let store = try AgentStore(folder: folder)
            let distributor = try Distributor(
                address: address, user: 1000, store: store, service: service,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let rig = Rig(distributor: distributor, store: store, service: service)
            let running = Task { await distributor.run() }
            try await withCleanUp {
                var endpoint = ""
                try await DesktopSession.runBus(folder) { address in
                    try await UnifiedPushApp.with(address, "org.example.Chat") { app in
                        try await wait(while: await distributor.bus == nil)
                        _ = try await app.register("T1")
                        endpoint = try required(try await app.next()["endpoint"]?.string)
                    }
                }
                try await wait(while: await distributor.bus != nil)
                try await rig.receive("meanwhile", for: endpoint)
                // The old bus has left its socket.
                try? FileManager.default.removeItem(atPath: folder + "/bus")
                try UnifiedPushApp.makeActivatable("org.example.Chat", version: 2, in: folder)
                try await DesktopSession.runBus(folder) { _ in
                    try await wait(while: try store.messageCount() > 0)
                }
                let told = try String(contentsOfFile: folder + "/told", encoding: .utf8)
                #expect(told.contains("meanwhile"))
            } cleanUp: {
                await distributor.close()
                await running.value
                store.close()
            }
        }
    }

    @Test func `Of two distributors the first has the name, and the other gets it afterwards`() async throws {
        try await withAgentFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/other", withIntermediateDirectories: true)
            try await DesktopSession.runBus(folder) { address in
                try await UnifiedPushApp.with(address, "org.example.Chat") { app in
                    let (first, second) = (PlayedSubscriptions(), PlayedSubscriptions())
                    try await distribute(address, folder, first) { one in
                        // It runs on after the first has ended.
                        let store = try AgentStore(folder: folder + "/other")
                        let other = try Distributor(
                            address: address, user: 1000, store: store, service: second,
                            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
                        let running = Task { await other.run() }
                        try await withCleanUp {
                            try await wait(while: other.nameState == .disconnected)
                            #expect(one.distributor.nameState == .owned && other.nameState == .waiting)
                            _ = try await app.register("T1")
                            _ = try await app.next()
                            #expect(first.state.withLock { $0.asked } == 1 && second.state.withLock { $0.asked } == 0)
                            await one.distributor.close()
                            try await wait(while: one.distributor.nameState != .disconnected)
                            try await wait(while: other.nameState != .owned)
                            // The bus gives the name to the next one when it sees the end of the connection.
                            try await wait(while: try await app.register("T1")["success"] != "REGISTRATION_SUCCEEDED")
                            _ = try await app.next()
                            #expect(second.state.withLock { $0.asked } == 1)
                        } cleanUp: {
                            await other.close()
                            await running.value
                            store.close()
                        }
                    }
                }
            }
        }
    }

    @Test func `After a reset of the service apps get other endpoints, and subscriptions of nobody end`() async throws {
        try await run { rig, address, _ in
            try await UnifiedPushApp.with(address, "org.example.Chat") { app in
                _ = try await app.register("T1")
                let endpoint = try required(try await app.next()["endpoint"]?.string)
                await rig.distributor.reconcile()
                #expect(rig.service.state.withLock { $0.asked } == 1)
                rig.service.state.withLock { state in
                    state.subscriptions = [
                        "up-old": WebPushSubscription(name: "up-old", endpoint: "https://push.example/wp/old"),
                        "account": WebPushSubscription(name: "account", endpoint: "https://push.example/wp/a"),
                    ]
                }
                await rig.distributor.reconcile()
                let told = try await app.next()
                #expect(told["call"] == "NewEndpoint" && told["endpoint"]?.string != endpoint)
                // Those of apps with a manifest stay.
                let names = rig.service.state.withLock { Set($0.subscriptions.keys) }
                #expect(names.count == 2 && names.contains("account") && !names.contains("up-old"))
            }
        }
    }
}
