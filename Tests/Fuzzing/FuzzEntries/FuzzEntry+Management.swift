import DeliveryLogFiles
import Foundation
@testable import HTTPAPI
@testable import Management
import Matching
import Notifications
import Rehearsals
import VirtualDevices

// The entry of the management API.
extension FuzzEntry {
    /// Reads a request of the API: its method and path with the query on the first line, and then its body.
    static func readManagementRequest(_ bytes: [UInt8]) {
        guard let request = FuzzedRequest(bytes, of: ManagementOperations.all) else { return }
        // Positions and matches are read after the schema was checked.
        for value in request.query.values { readText(value) }
        let members = request.query.mapValues {
            Int64($0).map(JSONValue.integer) ?? JSONValue(any: Array($0.utf8)) ?? .string($0)
        }
        _ = try? RequestMatch(.object(members))
        guard let document = request.document else { return }
        forEachText(document, readText)
        switch request.path {
        case "/v1/rehearsals":
            _ = try? Rehearsal(document)
        case "/v1/fixtures":
            let fixture = try? ManagementMessages.Fixture.form.read(document)
            for device in (fixture?.teams ?? []).flatMap({ $0.devices ?? [] }) {
                if let behaviour = device.behaviour { _ = try? DeviceBehaviour(behaviour, at: "") }
            }
        case "/v1/requests/wait":
            if case .object(let members) = document, let match = members["match"] { _ = try? RequestMatch(match) }
        default: break
        }
    }

    /// Reads a text by each form that a text of the API may have.
    private static func readText(_ text: String) {
        if let position = LogPosition(text) {
            precondition(LogPosition(position.description) == position)
            // The reader begins after the position.
            _ = DeliveryLogReader(folder: "/nonexistent", after: position)
        }
        if let duration = Duration(iso8601: text) {
            precondition(Duration(iso8601: duration.iso8601) == duration)
            precondition(duration <= Duration.longestInDocuments)
        }
        _ = PKCS12.isAllowed(text)
        _ = TeamID(rawValue: text)
        _ = DeviceID(text)
        _ = NotificationID(text)
    }

    /// Passes each text of a document to `body`, the keys too.
    private static func forEachText(_ value: JSONValue, _ body: (String) -> Void) {
        switch value {
        case .string(let text): body(text)
        case .array(let values): for value in values { forEachText(value, body) }
        case .object(let members):
            for (key, value) in members {
                body(key)
                forEachText(value, body)
            }
        default: break
        }
    }
}
