import CampaignStore
import HTTPAPI
@testable import Management
import Notifications
@testable import ProviderServer

// The entries of the provider server.
extension FuzzEntry {
    /// Reads a request of the API: its method and path with the query on the first line, and then its body.
    static func readProviderRequest(_ bytes: [UInt8]) {
        guard let document = FuzzedRequest(bytes, of: ProviderServerAPI.operations)?.document else { return }
        let now = Timestamp(milliseconds: 1_800_000_000_000)
        _ = try? ProviderMessages.AppRequest(checking: document)
        _ = try? MessageDefinition(document)
        _ = try? MessageDefinition(document, isStored: true)
        let installation = try? ProviderMessages.InstallationRequest(document).installation(
            "one", registered: now, now: now)
        let known =
            installation ?? Installation(id: "one", deviceToken: "aa", environment: .development, registered: now)
        _ = try? ProviderMessages.InstallationRequest(merging: document, into: known).installation(
            "one", registered: now, now: now)
        for registrant in [Registrant.backend, .client(secret: [])] {
            _ = try? InstallationChanges(document, by: registrant)
        }
    }

    /// Whether an API's operation takes the request, so that the entry reads it further.
    package static func isTaken(_ request: [UInt8], by entry: FuzzEntry) -> Bool {
        switch entry {
        case .managementRequest: FuzzedRequest(request, of: ManagementOperations.all) != nil
        case .providerRequest: FuzzedRequest(request, of: ProviderServerAPI.operations) != nil
        default: false
        }
    }

    /// Reads an expression that selects installations, and another of tags.
    static func readAudience(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        for key in ["where", "tags"] {
            let document = JSONValue.object([key: .string(text)])
            guard let saved = try? ProviderMessages.AudienceRequest.savedForm.read(document, nullIsMissing: true),
                let read = try? AudienceDefinition(saved: saved.conditions, isStored: false)
            else { continue }
            guard let sent = try? ProviderMessages.AudienceRequest.form.read(document, nullIsMissing: true),
                let again = try? AudienceDefinition(sent, at: "/audience", isStored: false)
            else {
                preconditionFailure("A message must not have an audience that may be saved.")
            }
            precondition(read.audience == again.audience)
            if let expression = read.audience.expression { readMoments(expression) }
        }
    }

    /// Subtracts each time span from the present time.
    private static func readMoments(_ expression: AudienceExpression) {
        switch expression {
        case .and(let one, let other), .or(let one, let other):
            readMoments(one)
            readMoments(other)
        case .not(let inner): readMoments(inner)
        case .condition(.lastSeen(_, let moment)), .condition(.registered(_, let moment)):
            for now in [0, 1_800_000_000_000, UInt64.max] { _ = moment.timestamp(now: Timestamp(milliseconds: now)) }
        case .condition: break
        }
    }
}
