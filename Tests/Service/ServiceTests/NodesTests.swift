import CommonTesting
import Delivery
import DeliveryTesting
import Foundation
import Notifications
import Storage
import Synchronization
import Testing
import Trust

@testable import Service
@testable import ServiceTesting

/// Several nodes with one store, over real TLS. Each node learns in time what another one makes or changes.
@Suite("Several nodes", .timeLimit(.minutes(2)))
struct NodesTests {
    private static let forged = String(repeating: "0f", count: 32)

    // MARK: Token keys

    @Test
    func `If another node's new key sealed a device token, the key is looked up`() async throws {
        try await Nodes.run { nodes in
            let (first, second) = (try await nodes.start(), try await nodes.start())
            #expect(try await first.tokenKeys.rotate().rawValue == 2)
            let token = try await first.register(try nodes.makeDevice())
            let client = try await second.connectProvider()
            for _ in 0..<2 { #expect(try await client.send(second.push(token)).status == 200) }
            // The node looked up this key, and the one after it, which does not exist.
            #expect(second.secrets.questions.withLock { $0.map(\.rawValue) } == ["token-key-2", "token-key-3"])
            await client.close()
        }
    }

    @Test
    func `After a change of keys the other node seals with the new key too, and a device keeps its old token`()
        async throws
    {
        try await Nodes.run { nodes in
            let (first, second) = (try await nodes.start(), try await nodes.start())
            _ = try await first.tokenKeys.rotate()
            let device = try nodes.makeDevice()
            let token = try await first.register(device)
            #expect(try await second.register(device) == token)
        }
    }

    @Test
    func `A node that follows the secrets knows a new key before it needs it`() async throws {
        try await Nodes.run { nodes in
            let (first, second) = (try await nodes.start(), try await nodes.start())
            let following = Task { await second.tokenKeys.follow() }
            _ = try await first.tokenKeys.rotate()
            try await wait(while: second.tokenKeys.keys.current.current.rawValue != 2)
            following.cancel()
            await following.value
        }
    }

    @Test
    func `A device token that no node made is refused after a look-up, and many need few look-ups`() async throws {
        try await Nodes.run { nodes in
            let node = try await nodes.start()
            let client = try await node.connectProvider()
            // The first valid provider token allows many open requests.
            let token = try await node.register(try nodes.makeDevice())
            #expect(try await client.send(node.push(token)).status == 200)
            let answers = try await withThrowingTaskGroup(of: WireClient.Answer.self) { group in
                for _ in 0..<50 { group.addTask { try await client.send(node.push(Self.forged)) } }
                return try await group.reduce(into: [WireClient.Answer]()) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 400 && $0.reason == "BadDeviceToken" })
            let questions = node.secrets.questions.withLock { $0.count }
            #expect((1...10).contains(questions))
            await client.close()
        }
    }

    @Test
    func `While the store cannot be asked, a device token that no key opens is not called bad`() async throws {
        try await Nodes.run { nodes in
            let node = try await nodes.start()
            let client = try await node.connectProvider()
            node.secrets.reach(false)
            let answer = try await client.send(node.push(Self.forged))
            #expect(answer.status == 503)
            #expect(answer.reason == "ServiceUnavailable")
            node.secrets.reach(true)
            #expect(try await client.send(node.push(Self.forged)).status == 400)
            await client.close()
        }
    }

    @Test
    func `Later notifications of a connection do not overtake one whose key is being looked up`() async throws {
        try await Nodes.run { nodes in
            let (first, second) = (try await nodes.start(), try await nodes.start())
            let known = try await second.register(try nodes.makeDevice())
            _ = try await first.tokenKeys.rotate()
            let unknown = try await first.register(try nodes.makeDevice())
            let client = try await second.connectProvider()
            #expect(try await client.send(second.push(known)).status == 200)
            second.secrets.hold()
            let ids = (0..<4).map { _ in UUID().uuidString.lowercased() }
            let answers = try await withThrowingTaskGroup(of: Int.self) { group in
                for (id, token) in zip(ids, [unknown, known, unknown, known]) {
                    let begun = try await client.begin(second.push(token, id: id))
                    group.addTask { try await begun.finish().status }
                }
                // A notification that is invalid for another reason does not wait for the key.
                #expect(try await client.send(second.push("xyz")).reason == "BadDeviceToken")
                second.secrets.release()
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(answers == [200, 200, 200, 200])
            #expect(second.log.accepted.dropFirst().map(\.description) == ids)
            await client.close()
        }
    }

    @Test
    func `A service with its own store knows all keys, and looks none up`() async throws {
        try await Nodes.run(isShared: false) { nodes in
            let node = try await nodes.start()
            let client = try await node.connectProvider()
            #expect(try await client.send(node.push(Self.forged)).reason == "BadDeviceToken")
            #expect(node.secrets.questions.withLock { $0.isEmpty })
            await client.close()
        }
    }

    // MARK: A node that is cut off

    @Test
    func `A node whose accounts may be out of date refuses every provider, until they are current`() async throws {
        try await Nodes.run { nodes in
            let node = try await nodes.start()
            let token = try await node.register(try nodes.makeDevice())
            let clients = [try await node.connectProvider(), try await node.connectProvider(nodes.certificate)]
            for client in clients {
                for (isCutOff, status) in [(false, 200), (true, 503), (false, 200)] {
                    node.accounts.cutOff(isCutOff)
                    let answer = try await client.send(node.push(token))
                    #expect(answer.status == status)
                    #expect(answer.reason == (isCutOff ? "ServiceUnavailable" : nil))
                }
                await client.close()
            }
        }
    }

    @Test
    func `A node whose accounts become out of date also refuses a request that has begun`() async throws {
        try await Nodes.run { nodes in
            let node = try await nodes.start()
            let token = try await node.register(try nodes.makeDevice())
            let client = try await node.connectProvider()
            #expect(try await client.send(node.push(token)).status == 200)
            try await client.announced(1000)
            let begun = try await client.begin(node.push(token))
            node.accounts.cutOff(true)
            #expect(try await begun.finish().status == 503)
            await client.close()
        }
    }

    @Test
    func `A node whose accounts may be out of date ends the streams of devices, which then connect elsewhere`()
        async throws
    {
        try await Nodes.run { nodes in
            let node = try await nodes.start()
            let device = try nodes.makeDevice()
            let client = try await node.connectCourier(device)
            let stream = try await client.open(Node.headers("GET", "/1/notifications"), endStream: true)
            // Requests of one connection are handled in order, so when this one is answered, the stream has begun.
            #expect(try await client.send(Node.headers("POST", "/1/state"), body: #"{"power":"awake"}"#).status == 204)
            node.accounts.cutOff(true)
            #expect(try await stream.nextLine() == #"{"end":"storeUnavailable"}"#)
            let goAways = try await client.goAways()
            #expect(goAways.first?.contains("ServiceUnavailable") == true)
            let next = try await node.connectCourier(device)
            // The node looks at its connections from time to time, and may end this one before the request has come.
            let answer = try? await next.send(Node.headers("PUT", "/1/apps/com.example.app"), body: "")
            if let answer, answer.status != 0 {
                #expect(answer.status == 503)
                await next.close()
            } else {
                #expect(try await next.goAways().first?.contains("ServiceUnavailable") == true)
            }
        }
    }
}
