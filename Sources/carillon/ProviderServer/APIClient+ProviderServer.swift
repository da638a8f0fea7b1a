import APNSProvider
import CommandSupport
import Connections
import Credentials
import Foundation
import HTTPAPIClient
import NIOCore
import NIOSSL
import Notifications
import ProviderServer
import Synchronization

extension APIClient {
    private static let urlName = "CARILLON_PROVIDER_URL"
    private static let keyName = "CARILLON_PROVIDER_KEY"
    private static let authorityName = "CARILLON_PROVIDER_CA"

    /// The API of a provider server, with the administrator's key from the server's folder or from the environment.
    /// - Parameter proxy: the value of `--proxy`; nil if the environment names the proxy, or if there is none.
    static func providerServer(folder: String, proxy: String?) throws -> APIClient {
        let environment = ProcessInfo.processInfo.environment
        guard let url = try address(in: urlName) else {
            let description = try description(folder)
            let key = try InputFile.text(description.keyFile, "key").trimmingCharacters(in: .whitespacesAndNewlines)
            return try providerServer(
                description.url, key: key, authority: description.certificate, folder: folder, proxy)
        }
        guard let key = environment[keyName], !key.isEmpty else {
            throw CommandError("\(urlName) needs \(keyName).")
        }
        let authority = environment[authorityName].flatMap { $0.isEmpty ? nil : $0 }
        return try providerServer(url, key: key, authority: authority, folder: nil, proxy)
    }

    /// - Parameter folder: the server's folder; nil if the environment names the server.
    private static func providerServer(
        _ url: String, key: String, authority: String?, folder: String?, _ proxy: String?,
    ) throws -> APIClient {
        let tls = try authority.map { file in
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .certificates(try certificates(in: file, isNamed: folder == nil))
            return tls
        }
        return APIClient(.url(url), key: key, tls: tls, proxy: try self.proxy(proxy, to: url)) { failure in
            switch failure {
            case .notReached(let error): notAnswering(url, RequestFailure.cause(of: error), folder: folder)
            case .interrupted(let error):
                CommandError(
                    "The provider server at \(url) broke its answer off: \(RequestFailure.cause(of: error)). Try again."
                )
            case .refused(let status, _):
                CommandError(
                    failure.problem.detail ?? "The server refused: status \(status).", at: failure.problem.pointer)
            case .notUnderstood:
                CommandError(
                    "What answers at \(url) is no provider server: its answer is not JSON. Check \(urlName).")
            }
        }
    }

    /// The proxy through which to reach a server; nil for a direct connection.
    /// - Parameter named: the value of `--proxy`.
    private static func proxy(_ named: String?, to url: String) throws -> Proxy? {
        let proxy: HTTPProxy?
        if let named {
            do throws(ProviderError) {
                proxy = try HTTPProxy(url: named)
            } catch {
                throw CommandError("--proxy is not understood. \(error.cause)")
            }
        } else {
            guard let parts = URLComponents(string: url), parts.scheme?.lowercased() == "https", let host = parts.host
            else {
                return nil
            }
            proxy = try ProxyRules(variables: ProcessInfo.processInfo.environment)
                .proxy(for: host, port: parts.port ?? 443)
        }
        return proxy.map { Proxy(host: $0.host, port: $0.port, authorization: $0.authorization) }
    }

    /// Reads the file with the root certificate.
    /// - Parameter isNamed: whether the environment names it.
    private static func certificates(in file: String, isNamed: Bool) throws -> [NIOSSLCertificate] {
        let bytes = try InputFile.read(file, "root certificate")
        do {
            return try PEM(bytes).certificates.map { try NIOSSLCertificate(bytes: $0, format: .der) }
        } catch {
            let cause = (error as? TrustError)?.clause ?? RequestFailure.cause(of: error)
            let place = isNamed ? ", which \(authorityName) names," : ""
            throw CommandError("The root certificate \(file)\(place) is no certificate in PEM: \(cause).")
        }
    }

    private static func description(_ folder: String) throws -> ProviderServer.Description {
        let start = ServerStart(lockFile: ProviderServer.lockFile(in: folder))
        switch start.find({ ProviderServer.Description.read(folder: folder) }) {
        case .running(let description): return description
        case .absent:
            throw CommandError(
                "No provider server runs on \(folder); start one with: carillon provider serve --data \(folder)")
        case .unready: throw ServerStart.unready("The provider server", folder)
        }
    }

    /// No connection to the server: what failed, and what to do.
    private static func notAnswering(_ url: String, _ cause: String, folder: String?) -> CommandError {
        let isOtherName = cause.contains(ConnectionFailure.otherName)
        let isCertificate = isOtherName || cause.contains(ConnectionFailure.untrusted)
        let advice =
            switch (folder, isCertificate) {
            case (nil, true) where isOtherName: "Use a name of its certificate in \(urlName)."
            case (nil, true): "Name its root certificate in \(authorityName)."
            case (nil, false): "Check \(urlName)."
            case (_?, true): "Name a host of its certificate in \(urlName), with \(keyName) and \(authorityName)."
            case (let folder?, false): "Start one with: carillon provider serve --data \(folder)"
            }
        return CommandError("No provider server answers at \(url): \(cause). \(advice)")
    }

    // MARK: Requests

    /// Sends a file unchanged, in parts, and shows the progress.
    func upload(_ path: String, file: String, contentType: String) async throws -> JSONValue {
        let (handle, known) = try InputFile.open(file, "file")
        // The request declares its length before the first part.
        guard let size = known else {
            throw CommandError(
                "The size of \(file) is not known, because it is no regular file. Write it to a file first.")
        }
        let bar = ProgressBar()
        let sent = Mutex(0)
        let parts = AsyncStream<ByteBuffer>(unfolding: {
            guard let part = try? handle.read(upToCount: 1 << 16), !part.isEmpty else { return nil }
            let done = sent.withLock { sent in
                sent += part.count
                return sent
            }
            bar.show(file, done, of: size)
            return ByteBuffer(bytes: part)
        })
        defer { bar.end() }
        return try await upload(path, parts, bytes: Int64(size), contentType: contentType)  // fits: Int has 64 bits
    }

    /// Writes an answer to standard output as it arrives.
    func download(_ path: String, accept: String) async throws {
        try await download(path, accept: accept) {
            try FileHandle.standardOutput.write(contentsOf: Data($0.readableBytesView))
        }
    }
}

extension JSONValue {
    /// The text of a member; nil if it is missing or not a text.
    subscript(_ key: String) -> String? { members[key]?.string }

    /// An object with only some of the members.
    func only(_ names: [String]) -> JSONValue { .object(members.filter { names.contains($0.key) }) }

    /// The number of a member; 0 if it is missing.
    func count(_ key: String) -> Int {
        members[key]?.int64.map { Int(clamping: $0) } ?? 0
    }

    /// The number of a member, as text; 0 if it is missing.
    func number(_ key: String) -> String { String(count(key)) }
}
