import APNSProvider
import Credentials
package import Delivery
import Notifications
package import Trust

/// Makes upstreams from what an administrator gives, and opens their credentials.
package struct UpstreamVault: Sendable {
    private let seal: CredentialSeal

    package init(_ seal: CredentialSeal) { self.seal = seal }

    /// The credentials that an administrator gives, with their secrets.
    package enum Credentials: Sendable, Hashable {
        /// - Parameter privateKey: P-256 in PEM, as a `.p8` file holds it.
        case key(teamID: String, keyID: String, privateKey: String)
        /// - Parameters:
        ///   - chain: the certificate and its chain, in PEM.
        ///   - privateKey: in PEM.
        case certificate(chain: String, privateKey: String)
        case passthrough
    }

    /// The settings of an upstream.
    package struct Proposal: Sendable, Hashable {
        package let place: UpstreamPlace
        /// Nil for Apple's service.
        package var url: String?
        package var authority: String?
        /// Nil to keep those of the present upstream.
        package var credentials: Credentials?
        package var proxy: String?
        /// In milliseconds.
        package var hold: UInt64 = 0
        package var captures = false
        package var compares = false

        package init(place: UpstreamPlace) { self.place = place }
    }

    /// Checks the settings of an upstream, and encrypts its credentials.
    /// - Parameter present: the upstream that the new one replaces.
    package func make(_ proposal: Proposal, replacing present: AppUpstream?) throws(UpstreamError) -> AppUpstream {
        let url = proposal.url ?? Self.appleURL(proposal.place.environment)
        let (credentials, sealed) = try credentials(of: proposal, present)
        let upstream = AppUpstream(
            place: proposal.place, url: url, authority: proposal.authority, credentials: credentials,
            sealedCredentials: sealed, proxy: proposal.proxy, hold: proposal.hold, captures: proposal.captures,
            compares: proposal.compares)
        if upstream.captures {
            guard upstream.place.environment == .development else {
                throw UpstreamError(
                    .contradiction, "Requests are captured in the development environment only.", at: "/capture")
            }
            guard credentials != .passthrough else {
                throw UpstreamError(
                    .contradiction,
                    "A captured request may be released when the client's provider token has expired, so the upstream needs "
                        + "credentials of its own.", at: "/capture")
            }
        }
        guard upstream.hold == 0 || credentials != .passthrough else {
            throw UpstreamError(
                .contradiction,
                "A held notification may be sent when the client's provider token has expired, so the upstream needs "
                    + "credentials of its own.", at: "/hold")
        }
        guard upstream.hold <= ForwardingLimits.hold else {
            throw UpstreamError(.badAddress, "A notification is held for at most 30 days.", at: "/hold")
        }
        // It would be shown, and is not encrypted.
        guard proposal.proxy?.contains("@") != true else {
            throw UpstreamError(
                .badAddress, "Name a user and a password of a proxy in HTTPS_PROXY of the service, and not here.",
                at: "/proxy")
        }
        let endpoint = try endpoint(of: upstream, variables: [:])
        do throws(ProviderError) {
            // A client finds everything that is wrong with the credentials and the authority.
            let client = try ProviderClient(
                credentials: endpoint.credentials, environment: endpoint.environment)
            withExtendedLifetime(client) {}
        } catch {
            throw UpstreamError(
                .badAddress, error.cause, at: error.code == .badEnvironment ? "/authority" : "/credentials")
        }
        return upstream
    }

    private func credentials(
        of proposal: Proposal,
        _ present: AppUpstream?,
    ) throws(UpstreamError) -> (AppUpstream.Credentials, sealed: [UInt8]) {
        let kind: AppUpstream.Credentials
        let secret: String
        switch proposal.credentials {
        case nil:
            guard let present else {
                throw UpstreamError(.badCredentials, "A new upstream needs credentials.", at: "/credentials")
            }
            return (present.credentials, present.sealedCredentials)
        case .passthrough: return (.passthrough, [])
        case .key(let team, let key, let pem):
            guard let team = TeamID(rawValue: team), let key = KeyID(rawValue: key) else {
                throw UpstreamError(
                    .badCredentials, "The IDs of the team and the key have to be \(AccountIDs.form).",
                    at: "/credentials")
            }
            (kind, secret) = (.key(team: team, key: key), pem)
        case .certificate(let chain, let key): (kind, secret) = (.certificate, chain + "\n" + key)
        }
        // Check it before it is encrypted.
        _ = try Self.provider(kind, secret)
        do throws(TrustError) {
            return (kind, try seal.seal(Array(secret.utf8), as: proposal.place.description))
        } catch {
            throw UpstreamError(.sealed, error.reason)
        }
    }

    private static func provider(
        _ kind: AppUpstream.Credentials,
        _ secret: String,
    ) throws(UpstreamError) -> ProviderCredentials {
        do throws(ProviderError) {
            switch kind {
            case .passthrough: return .passthrough
            case .key(let team, let key):
                return try ProviderCredentials(key: secret, keyID: key.rawValue, teamID: team.rawValue)
            case .certificate: return try ProviderCredentials(certificate: secret)
            }
        } catch {
            throw UpstreamError(.badCredentials, error.cause, at: "/credentials")
        }
    }

    /// The URL of Apple's service.
    static func appleURL(_ environment: Environment) -> String {
        let apple: APNSEnvironment = environment == .production ? .production : .development
        return "https://\(apple.host)"
    }

    /// What a client of an upstream needs.
    struct Endpoint {
        let environment: APNSEnvironment
        let credentials: ProviderCredentials
        let proxy: HTTPProxy?
        /// The same for all apps with the same upstream and the same credentials. It contains a secret.
        let identity: String
    }

    /// - Parameter variables: the process's environment, which may name a proxy.
    func endpoint(of upstream: AppUpstream, variables: [String: String]) throws(UpstreamError) -> Endpoint {
        var secret = ""
        if upstream.credentials != .passthrough {
            do throws(TrustError) {
                secret = String(
                    decoding: try seal.open(upstream.sealedCredentials, as: upstream.place.description), as: UTF8.self)
            } catch {
                throw UpstreamError(
                    .sealed, "The credentials of the upstream do not open: restore the secrets, or set them again.")
            }
        }
        let credentials = try Self.provider(upstream.credentials, secret)
        let environment: APNSEnvironment
        do throws(ProviderError) {
            environment = try .custom(
                url: upstream.url, authority: upstream.authority.map(APNSEnvironment.Authority.pem) ?? .system)
        } catch {
            throw UpstreamError(.badAddress, error.cause, at: "/url")
        }
        let proxy: HTTPProxy?
        do throws(ProviderError) {
            if let url = upstream.proxy {
                proxy = try HTTPProxy(url: url)
            } else {
                proxy = try HTTPProxy.named(by: variables, for: environment)
            }
        } catch {
            throw UpstreamError(.badAddress, error.cause, at: "/proxy")
        }
        let parts = [
            upstream.url, upstream.authority ?? "", upstream.proxy ?? "", "\(upstream.credentials)", secret,
        ]
        return Endpoint(
            environment: environment, credentials: credentials, proxy: proxy, identity: parts.joined(separator: "\n"))
    }
}
