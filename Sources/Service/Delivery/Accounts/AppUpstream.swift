package import Notifications

/// An app in one environment: what has an upstream.
package struct UpstreamPlace: Sendable, Hashable, CustomStringConvertible {
    package let bundleID: BundleID
    package let environment: Environment

    package init(bundleID: BundleID, environment: Environment) {
        self.bundleID = bundleID
        self.environment = environment
    }

    /// The name under which the credentials are encrypted, so that they cannot be decrypted for another app.
    package var description: String { "upstream \(bundleID.rawValue) \(environment.rawValue)" }
}

/// Another service of the provider API, to which an app's notifications are forwarded (docs/gateway.md).
///
/// It is a part of the accounts, so a change takes effect on every node with the next request. A class, because every
/// forwarded request has it, and a structure of so many values would be copied with each.
package final class AppUpstream: Sendable {
    /// What the gateway authenticates with. The secrets are in ``sealedCredentials``.
    package enum Credentials: Sendable, Hashable {
        /// Provider tokens that the gateway signs with a key of its own.
        case key(team: TeamID, key: KeyID)
        /// A provider certificate of its own.
        case certificate
        /// The provider token of the client, as it came.
        case passthrough
    }

    package let place: UpstreamPlace
    /// `https://host:port`.
    package let url: String
    /// The certificates, in PEM, with which the upstream's certificate is verified; nil for the system's.
    package let authority: String?
    package let credentials: Credentials
    /// The private key, or the certificate with its private key, encrypted. Empty with ``Credentials/passthrough``.
    package let sealedCredentials: [UInt8]
    /// `http://host:port` of a proxy that takes CONNECT; nil for a direct connection.
    package let proxy: String?
    /// How long the gateway keeps a notification that it cannot forward, in milliseconds; 0 if it keeps none.
    package let hold: UInt64
    /// Whether notifications are kept for a release by a person and not forwarded. In the development environment only.
    package let captures: Bool
    /// Whether requests are forwarded that the gateway would refuse for their headers or payload.
    package let compares: Bool

    /// Whether grants may send to it. A grant has no provider token of the upstream's, and what it sends is not kept.
    package var acceptsGrants: Bool { credentials != .passthrough && !captures }

    /// Whether held notifications are sent to it.
    package var sendsHeld: Bool { credentials != .passthrough && !captures }

    package init(
        place: UpstreamPlace,
        url: String,
        authority: String? = nil,
        credentials: Credentials,
        sealedCredentials: [UInt8] = [],
        proxy: String? = nil,
        hold: UInt64 = 0,
        captures: Bool = false,
        compares: Bool = false,
    ) {
        self.place = place
        self.url = url
        self.authority = authority
        self.credentials = credentials
        self.sealedCredentials = sealedCredentials
        self.proxy = proxy
        self.hold = hold
        self.captures = captures
        self.compares = compares
    }
}

extension AppUpstream: Hashable {
    package static func == (left: AppUpstream, right: AppUpstream) -> Bool {
        left === right
            || left.place == right.place && left.url == right.url && left.authority == right.authority
                && left.credentials == right.credentials && left.sealedCredentials == right.sealedCredentials
                && left.proxy == right.proxy && left.hold == right.hold && left.captures == right.captures
                && left.compares == right.compares
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(place)
        hasher.combine(url)
    }
}
