import CommandSupport
import Credentials
import Foundation
import HTTPAPI
import HTTPAPIClient
import Management
import NIOHTTP1
import NIOSSL
import Service

/// No service answers.
struct ServiceNotReached: Error, CustomStringConvertible {
    let description: String
}

extension APIClient {
    /// The management API, through the Unix socket in the data folder or at the address that the environment names.
    /// - Parameters:
    ///   - folder: the service's data folder. If the environment names an address, that is used in its place.
    ///   - isPatient: whether to wait for a service that is starting.
    static func management(_ folder: DataFolder, isPatient: Bool = true) throws -> APIClient {
        if let remote = try remoteManagement() { return remote }
        let description = isPatient ? try ServiceDescription.find(folder) : try ServiceDescription.read(folder)
        return APIClient(.socket(path: description.socket)) {
            commandError(
                $0, "No service answers on \(folder.path); start one with: carillon serve --data \(folder.path)")
        }
    }

    /// All items of a list of the management API.
    /// - Parameter unanswered: called with the nodes of a cluster whose part of the list is missing.
    func list<Item: Decodable>(
        _ path: String,
        name: (Item) -> String,
        unanswered: (Set<String>) -> Void = { _ in },
    ) async throws -> [Item] {
        var silent: Set<String> = []
        let items = try await list(path, pageItems: APILimits.listItems, name: name) { headers in
            silent.formUnion(headers[canonicalForm: OtherDevices.unansweredField].map { String($0) })
        }
        if !silent.isEmpty { unanswered(silent) }
        return items
    }

    private static func commandError(_ failure: APIFailure, _ silence: String) -> any Error {
        switch failure {
        case .notReached(let error):
            ServiceNotReached(description: "\(silence) (\(RequestFailure.cause(of: error)))")
        case .interrupted: CommandError("The service ended in the middle of its answer.")
        case .refused(let status, _):
            CommandError(
                failure.problem.detail ?? "The service refused: status \(status).", at: failure.problem.pointer)
        case .notUnderstood: CommandError("The service's answer cannot be read.")
        }
    }

    // MARK: Other machines

    private static let urlName = "CARILLON_MANAGEMENT_URL"
    private static let keyName = "CARILLON_MANAGEMENT_KEY"
    private static let identityName = "CARILLON_ADMINISTRATOR"
    private static let authorityName = "CARILLON_CA"
    /// The name of ``urlName`` in earlier versions.
    private static let formerName = "CARILLON_ADMINISTRATION_URL"

    /// The address in a variable of the environment, without a slash at its end; nil if there is none.
    static func address(in variable: String) throws -> String? {
        guard let url = ProcessInfo.processInfo.environment[variable], !url.isEmpty else { return nil }
        let parts = URLComponents(string: url)
        guard ["http", "https"].contains(parts?.scheme), parts?.host?.isEmpty == false else {
            throw CommandError("\(variable) is \(url); it takes http://HOST:PORT or https://HOST:PORT.")
        }
        return url.hasSuffix("/") ? String(url.dropLast()) : url
    }

    /// - Returns: nil if the environment names no address.
    private static func remoteManagement() throws -> APIClient? {
        let environment = ProcessInfo.processInfo.environment
        guard environment[formerName] == nil else {
            throw CommandError("\(formerName) was replaced by \(urlName).")
        }
        guard let url = try address(in: urlName) else { return nil }
        let silence = "No management API answers at \(url)."
        if url.hasPrefix("http://") {
            return APIClient(.url(url), key: environment[keyName]) { commandError($0, silence) }
        }
        guard let identity = environment[identityName], let authority = environment[authorityName] else {
            throw CommandError("\(urlName) with https needs \(identityName) and \(authorityName).")
        }
        return APIClient(.url(url), tls: try tls(identity: identity, authority: authority)) { failure in
            if case .notReached(let cause) = failure, "\(cause)".contains("ALERT_CERTIFICATE") {
                return CommandError(
                    "The management API at \(url) refuses the certificate of \(identityName): it has expired, was "
                        + "revoked, or is of another service.")
            }
            return commandError(failure, silence)
        }
    }

    private static func tls(identity: String, authority: String) throws -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        let files = (try InputFile.read(identity, "certificate"), try InputFile.read(authority, "root certificate"))
        do {
            let (own, roots) = (try PEM(files.0), try PEM(files.1).certificates)
            tls.trustRoots = .certificates(try roots.map { try NIOSSLCertificate(bytes: $0, format: .der) })
            tls.certificateChain = try own.certificates.map {
                .certificate(try NIOSSLCertificate(bytes: $0, format: .der))
            }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: own.privateKey, format: .der))
            // Check here that the files can be used.
            _ = try NIOSSLContext(configuration: tls)
        } catch {
            throw CommandError(
                "\(identity) and \(authority) are not usable certificates in PEM: \(DataFolder.reason(error)).")
        }
        return tls
    }
}
