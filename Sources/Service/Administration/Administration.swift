import Connections
import Courier
import Delivery
import Foundation
import HTTP2
import NIOCore
import Notifications
import Trust

/// The local stand-in for the developer account: what stands behind the socket in the data folder.
///
/// Who may open the socket, by the permissions of the folder, may do everything.
final class Administration: HTTP2Service {
    let accounts: any Accounts
    let authority: CertificateAuthority
    let invitations: any Invitations
    let devices: DeviceRevocation
    let tokenKeys: TokenKeyRotation
    let clock: @Sendable () -> Timestamp

    init(
        accounts: any Accounts,
        authority: CertificateAuthority,
        invitations: any Invitations,
        devices: DeviceRevocation,
        tokenKeys: TokenKeyRotation,
        clock: @escaping @Sendable () -> Timestamp,
    ) {
        self.accounts = accounts
        self.authority = authority
        self.invitations = invitations
        self.devices = devices
        self.tokenKeys = tokenKeys
        self.clock = clock
    }

    /// In bytes: no request of the administration needs more.
    static let maximumBodyBytes = 65_536

    func sessionConfiguration(for peer: Never?) -> HTTP2Configuration {
        var configuration = HTTP2Configuration()
        configuration.maxBodyBytes = Self.maximumBodyBytes
        return configuration
    }

    func makeConnection(from peer: Never?, on channel: any Channel) -> any HTTP2Connection {
        AdministrationConnection(administration: self, administrator: .local, eventLoop: channel.eventLoop)
    }

    /// Does what a request asks.
    func perform(
        _ method: String,
        _ path: String,
        _ body: [UInt8],
        as administrator: Administrator,
    ) async -> AdministrationAnswer {
        let parts = path.split(separator: "/", maxSplits: 1).map(String.init)
        let name = parts.count > 1 ? parts[1] : nil
        do {
            switch (method, parts.first ?? "", name) {
            case ("GET", "teams", nil): return try list(accounts.current.teams, message)
            case ("GET", "teams", let name?): return try show(team(name))
            case ("POST", "teams", nil): return try await createTeam(decode(body))
            case ("GET", "apps", nil): return try list(accounts.current.apps, message)
            case ("GET", "apps", let name?): return try show(app(name))
            case ("POST", "apps", nil): return try await createApp(decode(body))
            case ("GET", "keys", nil): return try list(accounts.current.keys, message)
            case ("GET", "keys", let name?): return try show(key(name))
            case ("POST", "keys", nil): return try await createKey(decode(body))
            case ("DELETE", "keys", let name?): return try await revokeKey(name)
            case ("GET", "certificates", nil): return try list(accounts.current.certificates, message)
            case ("GET", "certificates", let name?): return try show(certificate(name))
            case ("POST", "certificates", nil): return try await createCertificate(decode(body))
            case ("DELETE", "certificates", let name?): return try await revokeCertificate(name)
            case ("GET", "crl", nil): return try revocationList()
            case ("POST", "invitations", nil): return try await invite(decode(body))
            case ("DELETE", "devices", let name?): return try await revokeDevice(name, decode(body))
            case ("POST", "token-keys", nil): return try await rotateTokenKey()
            case ("POST", "administrators", nil):
                guard administrator.mayMakeAdministrators else {
                    return .failure(403, "Administrators are made over the socket in the data folder alone.")
                }
                return try makeAdministrator()
            default: return .failure(404, "There is no \(method) \(path) here.")
            }
        } catch let error as StoreError {
            return .failure(error.code == .exists || error.code == .missing ? 409 : 503, error.cause)
        } catch let error as AdministrationError {
            return .failure(400, error.cause)
        } catch let error as TrustError {
            return .failure(400, error.reason)
        } catch {
            return .failure(400, "The body is not the JSON that \(method) \(path) takes; see docs/administration.md.")
        }
    }

    /// In the order of what names the items.
    private func list<Name: CustomStringConvertible, Value, Message: Encodable>(
        _ items: [Name: Value],
        _ message: (Value) -> Message,
    ) throws -> AdministrationAnswer {
        try .success(items.sorted { $0.key.description < $1.key.description }.map { message($0.value) })
    }

    private func show(_ message: some Encodable) throws -> AdministrationAnswer { try .success(message) }

    /// A certificate for the administration over TLS, and its key.
    private func makeAdministrator() throws -> AdministrationAnswer {
        var random = SystemRandomNumberGenerator()
        let issued = try authority.issueAdministratorCertificate(
            now: Double(clock().milliseconds) / 1000, using: &random)
        return try .success(
            AdministrationMessages.Administrator(
                serial: issued.serial.description, identity: (issued.keyPEM ?? "") + issued.chainPEM))
    }

    private func decode<Message: Decodable>(_ body: [UInt8]) throws -> Message {
        try JSONDecoder().decode(Message.self, from: Data(body))
    }
}

// How names in requests are read.
extension Administration {
    /// What was asked for, where there is one.
    /// - Parameter kind: the command that has a list of them.
    func present<Value>(_ value: Value?, _ kind: String, _ id: some CustomStringConvertible) throws -> Value {
        guard let value else {
            throw StoreError(.missing, "There is no \(kind) \(id); carillon \(kind) list shows those that there are.")
        }
        return value
    }

    func teamID(_ name: String) throws -> TeamID {
        guard let id = TeamID(rawValue: name) else {
            throw AdministrationError("\(name.debugDescription) is not a team ID: ten capital letters and digits.")
        }
        return id
    }

    func bundleID(_ name: String) throws -> BundleID {
        guard let bundleID = BundleID(rawValue: name) else {
            throw AdministrationError(
                "\(name.debugDescription) is not a bundle ID: letters, digits, hyphens and periods.")
        }
        return bundleID
    }

    func environment(_ name: String) throws -> Environment {
        guard let environment = Environment(rawValue: name) else {
            throw AdministrationError("\(name.debugDescription) is neither development nor production.")
        }
        return environment
    }
}
