import Foundation
import Notifications

/// An answer of the administration: a status and, as a rule, JSON.
struct AdministrationAnswer: Sendable {
    var status: Int
    var contentType = "application/json"
    var body: [UInt8]

    static func success(_ message: some Encodable) throws -> AdministrationAnswer {
        AdministrationAnswer(status: 200, body: Array(try JSONEncoder().encode(message)))
    }

    static func failure(_ status: Int, _ cause: String) -> AdministrationAnswer {
        AdministrationAnswer(status: status, body: Array(#"{"error":\#(JSONString.quoted(cause))}"#.utf8))
    }
}
