#if PostgreSQL
    import CommonTesting
    import Foundation
    import Management
    import Testing

    @testable import ServiceTesting

    /// Grants with two nodes on one store.
    @Suite(.startsPrograms, .timeLimit(.minutes(2)))
    struct TwoNodesGrantTests {
        private func send(_ node: TestService, _ instance: TestInstance, _ handle: String) async throws -> Int {
            let push = WirePush(token: handle, topic: node.bundleID, authorization: try instance.token())
            let client = try await node.connectProvider()
            let answer = try await client.send(push)
            await client.close()
            return answer.status
        }

        @Test func `A daily number holds over both nodes, and a suspension reaches the other one`() async throws {
            try await TwoServices.run { one, two in
                let instance = try await one.makeGrant { $0.daily = 10 }
                let handle = try await one.makeHandle(one.makeDeviceToken(), instance.clientKey)
                for _ in 0..<10 { #expect(try await send(one, instance, handle) == 200) }
                // The other node learns of the grant and of its number within a second.
                var sent = 0
                while true {
                    let status = try await send(two, instance, handle)
                    if status == 429 { break }
                    sent += status == 200 ? 1 : 0
                    try #require(sent < 1000)
                }
                #expect(try await send(one, instance, handle) == 429)
                // Each node writes its numbers when it is asked. What the first one has sent last may not be written yet.
                _ = try await one.grant(instance.grant)
                #expect(try await two.grant(instance.grant).today == UInt64(10 + sent))

                #expect(try await one.change(instance.grant, #"{"suspended":true,"daily":0}"#).suspended)
                try await wait(while: try await send(two, instance, handle) != 403)
            }
        }
    }
#endif
