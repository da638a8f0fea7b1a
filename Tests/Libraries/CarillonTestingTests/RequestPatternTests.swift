import APNSProvider
import CarillonTesting
import Foundation
import Matching
import Testing

struct RequestPatternTests {
    /// The service refuses a match with a key that it does not know.
    @Test func `The service reads each key of a pattern`() throws {
        let pattern = RequestPattern(
            topic: "com.example.app", token: "AB01", device: "0123456789abcdef", pushType: "alert",
            apnsID: UUID().uuidString, collapseID: "score", channel: "channel", status: 400, reason: "BadTopic",
            payload: ["aps": [:]], outcome: .rejected, after: 1, serverName: "localhost",
            subscription: "alice", text: "hello")
        let document = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(pattern))
        let match = try RequestMatch(document)
        #expect(match.token == "ab01" && match.status == 400 && match.after == 1)
        #expect(match.subscription == "alice" && match.text == "hello")
    }

    /// If it were left out, the pattern would match every request.
    @Test func `A payload that is no JSON is an error`() throws {
        let pattern = RequestPattern(payload: .number(.nan))
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(pattern) }
    }

    @Test func `An app is not removed before 1970`() throws {
        #expect(throws: TestAPNsError.self) { try JSONEncoder().encode(DeviceBehaviour.removed(since: -1)) }
    }
}
