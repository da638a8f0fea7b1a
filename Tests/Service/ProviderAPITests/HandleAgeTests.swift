import Delivery
import Foundation
import Management
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// Handles that end, and what an administrator sees of them.
@Suite(.timeLimit(.minutes(2)))
struct HandleAgeTests {
    private func run(_ body: (TestService) async throws -> Void) async throws {
        try await TestService.run({ $0.clock = .virtual }, body)
    }

    private func advance(_ days: Int, _ test: TestService) async throws {
        let answer = try await test.ask("POST", "/v1/clock", body: #"{"advance":"P\#(days)D"}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    private func handles(_ test: TestService, _ grant: String, _ state: String) async throws -> [String] {
        let handles: [ManagementMessages.GrantHandle] = try await test.administer(
            "GET", "/v1/grants/\(grant)/handles?state=\(state)")
        #expect(handles.allSatisfy { $0.state == state && $0.environment == "development" && $0.made <= $0.registered })
        return handles.map(\.handle)
    }

    private func send(_ test: TestService, _ instance: TestInstance, _ handle: String) async throws -> WireClient.Answer
    {
        let client = try await test.connectProvider()
        let answer = try await client.send(
            WirePush(token: handle, topic: test.bundleID, authorization: try instance.token()))
        await client.close()
        return answer
    }

    @Test func `A handle that is not registered again ends, and leaves the list after 30 days`() async throws {
        try await run { test in
            let instance = try await test.makeGrant { $0.maximumHandles = 2 }
            let tokens = ["5a", "5b", "5c"].map { String(repeating: $0, count: 32) }
            let old = try await test.makeHandle(tokens[0], instance.clientKey)
            try await advance(100, test)
            let young = try await test.makeHandle(tokens[1], instance.clientKey)
            #expect(try await test.askForHandle(tokens[2], instance.clientKey).reason == "Forbidden")
            try await advance(80, test)
            let answer = try await send(test, instance, old)
            #expect(answer.status == 410 && answer.reason == "Unregistered" && answer.body.contains("180 days"))
            #expect(try await test.grant(instance.grant).handles == 1)
            #expect(try await handles(test, instance.grant, "active") == [young])
            #expect(try await handles(test, instance.grant, "ended") == [old])
            // It does not count any more.
            let third = try await test.makeHandle(tokens[2], instance.clientKey)
            #expect(try await test.askForHandle(tokens[0], instance.clientKey).reason == "Forbidden")
            try await advance(31, test)
            #expect(try await handles(test, instance.grant, "ended") == [])
            #expect(try await send(test, instance, old).reason == "Unregistered", "Its end is remembered for a year.")
            #expect(try await Set(handles(test, instance.grant, "active")) == [young, third])
        }
    }

    @Test func `The first registration after the end counts again, without an administrator's look`() async throws {
        try await run { test in
            let instance = try await test.makeGrant { $0.maximumHandles = 1 }
            let tokens = ["5a", "5b"].map { String(repeating: $0, count: 32) }
            _ = try await test.makeHandle(tokens[0], instance.clientKey)
            try await advance(180, test)
            let second = try await test.makeHandle(tokens[1], instance.clientKey)
            #expect(try await handles(test, instance.grant, "active") == [second])
        }
    }

    @Test func `An administrator removes a handle of its own grant only`() async throws {
        try await TestService.runInMemory { test in
            let (one, two) = (try await test.makeGrant("one"), try await test.makeGrant("two"))
            let handle = try await test.makeHandle(test.makeDeviceToken(), one.clientKey)
            #expect(try await test.ask("DELETE", "/v1/grants/\(two.grant)/handles/\(handle)").status == 404)
            #expect(try await test.ask("DELETE", "/v1/grants/\(one.grant)/handles/00").status == 400)
            #expect(try await test.ask("DELETE", "/v1/grants/\(one.grant)/handles/\(handle)").status == 200)
            #expect(try await test.ask("DELETE", "/v1/grants/\(one.grant)/handles/\(handle)").status == 404)
            #expect(try await test.ask("GET", "/v1/grants/g_aaaaaaaaaaaaaaaa/handles").status == 404)
            #expect(try await test.ask("GET", "/v1/grants/\(one.grant)/handles?state=lost").status == 400)
            #expect(try await send(test, one, handle).reason == "BadDeviceToken")
        }
    }

    @Test func `A revoked grant leaves the list after 30 days and does not count`() async throws {
        try await TestService.run {
            $0.clock = .virtual
            $0.grants.grants = 1
        } _: { test in
            let one = try await test.makeGrant("one")
            let refusal = await #expect(throws: TestService.Refusal.self) { _ = try await test.makeGrant("two") }
            #expect(refusal?.status == 409 && refusal?.body.contains("limit.grants") == true)
            #expect(try await test.ask("DELETE", "/v1/grants/\(one.grant)").status == 200)
            let two = try await test.makeGrant("two")
            func listed() async throws -> [String] {
                let grants: [ManagementMessages.Grant] = try await test.administer("GET", "/v1/grants")
                return grants.map(\.grant).sorted()
            }
            try await advance(29, test)
            #expect(try await listed() == [one.grant, two.grant].sorted())
            try await advance(2, test)
            #expect(try await listed() == [two.grant])
            #expect(try await test.ask("GET", "/v1/grants/\(one.grant)").status == 404)
        }
    }

    @Test func `A change changes what it names, and 0 or an empty list removes a limit`() async throws {
        try await TestService.runInMemory { test in
            let instance = try await test.makeGrant {
                ($0.rate, $0.daily, $0.topics) = (5, 10, [test.bundleID])
            }
            var grant = try await test.change(
                instance.grant, #"{"name":"new","rate":0,"topics":[],"registration":"code"}"#)
            #expect(grant.name == "new" && grant.limits.rate == nil && grant.limits.topics == nil)
            #expect(grant.limits.daily == 10 && grant.limits.registration == "code")
            grant = try await test.change(instance.grant, #"{"registration":"open","daily":0}"#)
            #expect(grant.limits.registration == "open" && grant.limits.daily == nil)
        }
    }
}
