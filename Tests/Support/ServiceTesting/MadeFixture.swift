import Foundation
import Testing

/// The parts of a completed fixture that tests need. Nobody changes the values of its JSON document.
struct MadeFixture: @unchecked Sendable {
    let document: [String: Any]
    let team: [String: Any]

    init(_ answer: TestService.ManagementAnswer) throws {
        #expect(answer.status == 200, "\(answer.text)")
        document = try required(answer.problem)
        team = try required((document["teams"] as? [[String: Any]])?.first)
    }

    func device(_ name: String, bundleID: String = "com.example.shop") throws -> (id: String, token: String) {
        let devices = try required(team["devices"] as? [[String: Any]])
        let device = try required(devices.first { $0["name"] as? String == name })
        let tokens = try required(device["tokens"] as? [String: String])
        return (try required(device["deviceID"] as? String), try required(tokens[bundleID]))
    }

    /// A provider token of the fixture's key.
    func providerToken() throws -> String {
        let key = try required((team["keys"] as? [[String: String]])?.first)
        return try SignedToken.make(
            key: required(key["privateKey"]), keyID: required(key["keyID"]),
            teamID: required(team["teamID"] as? String))
    }
}
