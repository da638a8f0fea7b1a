#if PostgreSQL
    import CommonTesting
    import Crypto
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

        @Test func `A lost answer to an invitation is given again by the other node, and one grant is made`()
            async throws
        {
            try await TwoServices.run { one, two in
                let invited: ManagementMessages.GrantInvitationMade = try await one.administer(
                    "POST", "/v1/grant-invitations",
                    ManagementMessages.NewGrant(bundleID: one.bundleID, name: "invited"))
                let key = P256.Signing.PrivateKey().publicKey.pemRepresentation
                let document = try JSONEncoder().encode(["code": invited.code, "publicKey": key])
                let body = String(decoding: document, as: UTF8.self)
                async let here = one.askGateway("POST", "/1/grants", body: body)
                async let there = two.askGateway("POST", "/1/grants", body: body)
                let answers = try await [here, there, two.askGateway("POST", "/1/grants", body: body)]
                #expect(answers.allSatisfy { $0.status == 200 && $0.body == answers[0].body }, "\(answers)")
                let grants: [ManagementMessages.Grant] = try await one.administer("GET", "/v1/grants")
                #expect(grants.count { $0.name == "invited" } == 1)
            }
        }

        @Test func `A second key reaches the other node, one that has ended stops there, and a code counts once`()
            async throws
        {
            try await TwoServices.run { one, two in
                let instance = try await one.makeGrant { $0.registration = "code" }
                let token = try await one.makeDeviceToken()
                let code = try instance.code()
                let handle = try await one.makeHandle(token, instance.clientKey, code: code)
                // The other node learns of the grant within a second.
                while try await send(two, instance, handle) != 200 {}
                let again = try await two.askForHandle(token, instance.clientKey, code: code)
                #expect(again.status == 403 && again.body.contains("used before"))
                #expect(try await two.makeHandle(token, instance.clientKey, code: try instance.code()) == handle)

                let second = try await one.addKey(to: instance)
                let client = try await two.connectProvider()
                let push = WirePush(
                    token: handle, topic: two.bundleID,
                    authorization: try second.token())
                while try await client.send(push).status != 200 {}
                #expect(try await one.ask("DELETE", "/v1/grants/\(instance.grant)/keys/\(second.keyID)").status == 200)
                // On the live connection too.
                while try await client.send(push).reason != "InvalidProviderToken" {}
                #expect(try await send(two, instance, handle) == 200)
                await client.close()
            }
        }
    }
#endif
