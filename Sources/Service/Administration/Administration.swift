import Courier
import Crypto
import Delivery
import Foundation
import HTTP2
import NIOCore
import Notifications

/// The local stand-in for the developer account: what stands behind the socket in the data folder.
///
/// Who may open the socket, by the permissions of the folder, may do everything.
final class Administration: HTTP2Service {
    private let accounts: any Accounts
    private let activations: Activations
    private let clock: @Sendable () -> Timestamp

    init(accounts: any Accounts, activations: Activations, clock: @escaping @Sendable () -> Timestamp) {
        self.accounts = accounts
        self.activations = activations
        self.clock = clock
    }

    /// In bytes: no request of the administration needs more.
    static let maximumBodyBytes = 65_536

    var sessionConfiguration: HTTP2Configuration {
        var configuration = HTTP2Configuration()
        configuration.maxBodyBytes = Self.maximumBodyBytes
        return configuration
    }

    func makeConnection(from peer: Never?, on channel: any Channel) -> any HTTP2Connection {
        AdministrationConnection(administration: self, eventLoop: channel.eventLoop)
    }

    /// Does what a request asks.
    func perform(_ method: String, _ path: String, _ body: [UInt8]) async -> AdministrationAnswer {
        do {
            switch (method, path) {
            case ("POST", "/teams"): return try await createTeam(decode(body))
            case ("POST", "/apps"): return try await createApp(decode(body))
            case ("POST", "/keys"): return try await createKey(decode(body))
            case ("POST", "/invitations"): return try invite(decode(body))
            case ("DELETE", _) where path.hasPrefix("/keys/"):
                return try await revokeKey(String(path.dropFirst("/keys/".count)))
            default: return .failure(404, "There is no \(method) \(path) here.")
            }
        } catch let error as StoreError {
            return .failure(error.code == .exists || error.code == .missing ? 409 : 503, error.cause)
        } catch let error as AdministrationError {
            return .failure(400, error.cause)
        } catch {
            return .failure(400, "The body is not the JSON that \(method) \(path) takes; see docs/administration.md.")
        }
    }

    private func createTeam(_ request: AdministrationMessages.NewTeam) async throws -> AdministrationAnswer {
        let name = request.name
        guard (1...Team.maximumNameBytes).contains(name.utf8.count), !name.contains(where: \.isNewline) else {
            throw AdministrationError("A team's name has 1 to \(Team.maximumNameBytes) bytes on one line.")
        }
        var random = SystemRandomNumberGenerator()
        let team = Team(id: .random(using: &random), name: name)
        _ = try await accounts.apply(.createTeam(team))
        return try .success(AdministrationMessages.TeamMade(teamID: team.id.rawValue))
    }

    private func createApp(_ request: AdministrationMessages.NewApp) async throws -> AdministrationAnswer {
        guard let bundleID = BundleID(rawValue: request.bundleID) else {
            throw AdministrationError(
                "\(request.bundleID.debugDescription) is not a bundle ID: letters, digits, hyphens and periods.")
        }
        _ = try await accounts.apply(.createApp(bundleID: bundleID, team: try team(request.team)))
        return try .success(
            AdministrationMessages.AppMade(bundleID: bundleID.rawValue, topics: bundleID.certificateTopics))
    }

    private func createKey(_ request: AdministrationMessages.NewKey) async throws -> AdministrationAnswer {
        // Why it is none, nobody has to know.
        guard let bytes = Data(base64Encoded: request.publicKey),
            let point = try? P256.Signing.PublicKey(x963Representation: bytes)
        else { throw AdministrationError("The public key is not a point on P-256 in X9.63 form and Base64.") }
        let environments = try request.environment.map { [try environment($0)] } ?? Environment.allCases
        var random = SystemRandomNumberGenerator()
        let key = TeamKey(
            id: .random(using: &random),
            team: try team(request.team),
            publicKey: Array(point.x963Representation),
            environments: Set(environments),
        )
        _ = try await accounts.apply(.createKey(key))
        return try .success(AdministrationMessages.KeyMade(keyID: key.id.rawValue))
    }

    private func revokeKey(_ name: String) async throws -> AdministrationAnswer {
        guard let id = KeyID(rawValue: name) else {
            throw AdministrationError("\(name.debugDescription) is not a key ID: ten capital letters and digits.")
        }
        _ = try await accounts.apply(.revokeKey(id, at: clock()))
        return try .success(AdministrationMessages.KeyMade(keyID: id.rawValue))
    }

    private func invite(_ request: AdministrationMessages.NewInvitation) throws -> AdministrationAnswer {
        var random = SystemRandomNumberGenerator()
        let environment = try environment(request.environment)
        guard let code = activations.invite(to: environment, now: clock(), using: &random) else {
            throw AdministrationError("\(Activations.maximumCodes) invitations are waiting; let some be used first.")
        }
        return try .success(AdministrationMessages.Invitation(code: code))
    }

    private func team(_ name: String) throws -> TeamID {
        guard let id = TeamID(rawValue: name) else {
            throw AdministrationError("\(name.debugDescription) is not a team ID: ten capital letters and digits.")
        }
        return id
    }

    private func environment(_ name: String) throws -> Environment {
        guard let environment = Environment(rawValue: name) else {
            throw AdministrationError("\(name.debugDescription) is neither development nor production.")
        }
        return environment
    }

    private func decode<Message: Decodable>(_ body: [UInt8]) throws -> Message {
        try JSONDecoder().decode(Message.self, from: Data(body))
    }
}

/// What was asked for cannot be.
private struct AdministrationError: Error {
    let cause: String
    init(_ cause: String) { self.cause = cause }
}

/// An answer of the administration: a status and JSON.
struct AdministrationAnswer: Sendable {
    var status: Int
    var body: [UInt8]

    static func success(_ message: some Encodable) throws -> AdministrationAnswer {
        AdministrationAnswer(status: 200, body: Array(try JSONEncoder().encode(message)))
    }

    static func failure(_ status: Int, _ cause: String) -> AdministrationAnswer {
        AdministrationAnswer(status: status, body: Array(#"{"error":\#(JSONString.quoted(cause))}"#.utf8))
    }
}
