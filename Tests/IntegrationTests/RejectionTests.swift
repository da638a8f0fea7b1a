import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// Every rejection of the provider API, with curl, in both environments.
@Suite(.gateway, .timeLimit(.minutes(5))) struct RejectionTests {
    @Test(arguments: RejectionTable.rows, Environment.allCases)
    func `Is answered to the letter`(request: FaultyRequest, environment: Environment) async throws {
        let situation = try GatewaySituation.current
        var push = try situation.push(environment)
        try request.spoil(&push, situation, environment)
        let answer = try await situation.service.send(push, to: environment)
        #expect(answer.status == request.status)
        #expect(answer.httpVersion == "2")
        #expect(answer["content-type"] == "application/json")
        #expect(try #require(answer["apns-id"]).isCanonicalUUID)
        #expect(answer["apns-unique-id"] == nil)
        let body = try answer.json
        #expect(body["reason"]?.text == request.reason)
        var keys: Set<String> = ["reason"]
        if environment == .development { keys.insert("detail") }
        if request.status == 410 { keys.insert("timestamp") }
        #expect(body.keys == keys)
    }

    @Test(arguments: Environment.allCases)
    func `The identifier comes back as it was sent`(environment: Environment) async throws {
        let situation = try GatewaySituation.current
        var push = try situation.push(environment)
        push["apns-id"] = "8B1E5B4A-9C0C-4D5E-8F00-0123456789AB"
        push["apns-priority"] = "7"
        let answer = try await situation.service.send(push, to: environment)
        #expect(answer.status == 400)
        #expect(answer["apns-id"] == "8B1E5B4A-9C0C-4D5E-8F00-0123456789AB")
    }

    @Test func `A detail names what is wrong with this request`() async throws {
        let situation = try GatewaySituation.current
        var push = try situation.push(.development)
        push["apns-collapse-id"] = String(repeating: "x", count: 65)
        let answer = try await situation.service.send(push)
        #expect(try answer.json["detail"] == "apns-collapse-id is 65 bytes; at most 64 are allowed.")
    }

    @Test func `A rejection does not end the connection`() async throws {
        let situation = try GatewaySituation.current
        let connection = try await situation.service.connect()
        var bad = try situation.push(.development)
        bad["apns-priority"] = "7"
        #expect(try await connection.send(bad).status == 400)
        #expect(try await connection.send(try situation.push(.development)).status == 200)
        await connection.close()
    }

    @Test func `Another teams token on the same connection is refused`() async throws {
        let situation = try GatewaySituation.current
        let connection = try await situation.service.connect()
        #expect(try await connection.send(try situation.push(.development)).status == 200)
        let other = try Push(
            token: try situation.token(.development), topic: GatewaySituation.otherBundleID, from: situation.otherTeam)
        let answer = try await connection.send(other)
        #expect(answer.status == 403)
        #expect(try JSONValue(answer.body)["reason"] == "InvalidProviderToken")
        await connection.close()
    }

    @Test func `A body that is too long is answered before its end`() async throws {
        let situation = try GatewaySituation.current
        let connection = try await situation.service.connect()
        var push = try situation.push(.development)
        push.payload(bytes: 4097)
        let answer = try await connection.send(push, ends: false)
        #expect(answer.status == 413)
        #expect(try JSONValue(answer.body)["reason"] == "PayloadTooLarge")
        #expect(answer["apns-id"] != nil)
        await connection.close()
    }
}
