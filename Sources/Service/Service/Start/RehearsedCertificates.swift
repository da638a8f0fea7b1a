import Connections
import Credentials
import Foundation
import Matching
import NIOSSL
import Notifications
import Storage
import Synchronization
import Trust

/// What the service's listeners show in a rehearsal in place of their own certificate. Each configuration is made when
/// it is needed first.
final class RehearsedCertificates: Sendable {
    private let certificate: ServerCertificate
    private let authority: CertificateAuthority
    private let names: [String]
    private let keptRoot: String?
    private let now: @Sendable () -> Timestamp
    private let state = Mutex(State())

    private struct State {
        var other: OtherAuthority?
        var contexts: [Key: NIOSSLContext] = [:]
        /// The listeners' certificate with which the configurations were made.
        var revision = 0
    }

    private struct Key: Hashable {
        let kind: ServerCertificate.Kind
        let fault: HandshakeFault
    }

    /// How long a certificate has been expired, or how long it is still invalid: more than clocks may differ.
    private static let day: Double = 86_400

    /// A name that no server can have (RFC 2606, 2).
    private static let wrongName = "another-service.invalid"

    /// - Parameters:
    ///   - names: the names of the listeners.
    ///   - keptRoot: the root of the other authority in PEM, from ``keepRoot(beside:in:now:)``.
    ///   - now: the machine's time.
    init(
        _ certificate: ServerCertificate,
        _ authority: CertificateAuthority,
        names: [String],
        keptRoot: String?,
        now: @escaping @Sendable () -> Timestamp,
    ) {
        self.certificate = certificate
        self.authority = authority
        self.names = names
        self.keptRoot = keptRoot
        self.now = now
    }

    /// Makes the root of the other authority at the first start, and keeps it, so that it is the same after a restart and on
    /// all nodes.
    /// - Returns: the kept root in PEM; nil if it cannot be kept. It is then made when it is needed, and differs each time.
    static func keepRoot(
        beside authority: CertificateAuthority, in secrets: any Secrets, now: Timestamp
    ) async -> String? {
        do {
            if let kept = try await secrets.secret(.otherAuthority) { return String(decoding: kept, as: UTF8.self) }
            var random = SystemRandomNumberGenerator()
            let made = try OtherAuthority(beside: authority, now: Double(now.milliseconds) / 1000, using: &random)
            let kept = try await secrets.keep(Array(made.rootPEM.utf8), as: .otherAuthority)
            return String(decoding: kept, as: UTF8.self)
        } catch {
            return nil
        }
    }

    /// The root of the other authority, in PEM.
    func otherRootPEM() throws(TrustError) -> String {
        try state.withLock { state throws(TrustError) in try other(&state).rootPEM }
    }

    /// Why the service cannot cause a fault; nil if it can.
    func obstacle(_ fault: HandshakeFault) -> String? {
        guard case .certificate(let fault) = fault else { return nil }
        switch fault {
        case .otherAuthority: return nil
        case .incompleteChain:
            return certificate.present.hasIntermediate
                ? nil : "The listeners' certificate has no intermediate to leave out."
        case .expired, .notYetValid, .wrongName, .crossSigned:
            guard certificate.isFromFiles else { return nil }
            return "The service has not issued its listeners' certificate, which comes from files; "
                + "the value has to be other-authority or incomplete-chain."
        }
    }

    /// Returns the TLS configuration with a fault.
    /// - Throws: if it cannot be made.
    func context(_ kind: ServerCertificate.Kind, _ fault: HandshakeFault) throws -> NIOSSLContext {
        try state.withLock { state in
            let present = certificate.present
            if state.revision != present.revision { (state.contexts, state.revision) = ([:], present.revision) }
            let key = Key(kind: kind, fault: fault)
            if let made = state.contexts[key] { return made }
            let made = try make(key, present, &state)
            state.contexts[key] = made
            return made
        }
    }

    private func make(_ key: Key, _ present: ServerCertificate.Present, _ state: inout State) throws -> NIOSSLContext {
        switch key.fault {
        case .disturbance: return certificate.context(key.kind)
        case .versions(let versions):
            var tls = try ServerCertificate.configuration(key.kind, chainPEM: present.chainPEM, keyPEM: present.keyPEM)
            tls.minimumTLSVersion = versions.contains(.tls12) ? .tlsv12 : .tlsv13
            tls.maximumTLSVersion = versions.contains(.tls13) ? .tlsv13 : .tlsv12
            return try NIOSSLContext(configuration: tls)
        case .certificate(.incompleteChain):
            var tls = try ServerCertificate.configuration(key.kind, chainPEM: present.chainPEM, keyPEM: present.keyPEM)
            tls.certificateChain = Array(tls.certificateChain.prefix(1))
            return try NIOSSLContext(configuration: tls)
        case .certificate(let fault):
            let issued = try issue(fault, &state)
            return try NIOSSLContext(
                configuration: ServerCertificate.configuration(
                    key.kind, chainPEM: Array(issued.chainPEM.utf8), keyPEM: Array(issued.keyPEM.utf8)))
        }
    }

    private func issue(
        _ fault: HandshakeFault.Certificate,
        _ state: inout State,
    ) throws -> (chainPEM: String, keyPEM: String) {
        var random = SystemRandomNumberGenerator()
        let now = Double(now().milliseconds) / 1000
        let issued: IssuedCertificate
        switch fault {
        case .otherAuthority:
            issued = try other(&state).issueServerCertificate(names: names, now: now, using: &random)
        case .expired:
            issued = try authority.issueServerCertificate(
                names: names, life: Self.day, now: now - 2 * Self.day, using: &random)
        case .notYetValid:
            // Certificates are valid from an hour before `now`.
            issued = try authority.issueServerCertificate(names: names, now: now + 2 * Self.day, using: &random)
        case .wrongName:
            issued = try authority.issueServerCertificate(
                names: [Self.wrongName], isLocal: false, now: now, using: &random)
        case .incompleteChain, .crossSigned:
            issued = try authority.issueServerCertificate(names: names, now: now, using: &random)
        }
        let chain = fault == .crossSigned ? try other(&state).crossSigned(issued.chainPEM) : issued.chainPEM
        return (chain, issued.keyPEM ?? "")
    }

    private func other(_ state: inout State) throws(TrustError) -> OtherAuthority {
        if let other = state.other { return other }
        var random = SystemRandomNumberGenerator()
        let made = try OtherAuthority(
            beside: authority, rootPEM: keptRoot, now: Double(now().milliseconds) / 1000, using: &random)
        state.other = made
        return made
    }
}

extension SecretName {
    /// The root certificate of ``OtherAuthority``, which is public.
    fileprivate static let otherAuthority = SecretName(known: "other-ca.pem")
}
