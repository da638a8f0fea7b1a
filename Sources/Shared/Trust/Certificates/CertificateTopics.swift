import Credentials
package import Notifications
import SwiftASN1
import X509

/// A topic in a provider certificate, and its kind (Guide, 2.3.2).
package struct CertificateTopic: Sendable, Hashable {
    package let topic: String
    /// `app`, `voip` or `complication`.
    package let kind: String

    package init(topic: String, kind: String) {
        self.topic = topic
        self.kind = kind
    }
}

/// The topics that a new provider certificate lists.
package enum CertificateTopicChoice: Sendable, Hashable {
    /// The app and the services that belong to it (Guide, 2.3.2).
    case app
    /// Nothing: the only topic is the subject's UID, as in certificates for device management.
    case none

    /// The topics in the order of the Guide's example.
    package func topics(of bundleID: BundleID) -> [CertificateTopic] {
        switch self {
        case .app:
            TopicKind.allCases.compactMap { kind in
                guard let (listed, name) = kind.certificateEntry, listed == kind else { return nil }
                return CertificateTopic(topic: bundleID.topic(kind), kind: name)
            }
        case .none: []
        }
    }
}

// Topics ::= SEQUENCE { topic UTF8String, SEQUENCE { kind UTF8String }, … }
//
// The Guide shows topics and kinds in turn, but not their encoding. This is the encoding that provider libraries read:
// strings directly in the outer sequence are topics.
struct CertificateTopics: Sendable, Hashable {
    /// A certificate is for one app and the services that belong to it, which are three today.
    static let maximumCount = 32

    let list: [CertificateTopic]
}

extension CertificateTopics: DERImplicitlyTaggable {
    static var defaultIdentifier: ASN1Identifier { .sequence }

    init(derEncoded node: ASN1Node, withIdentifier identifier: ASN1Identifier) throws {
        list = try DER.sequence(node, identifier: identifier) { nodes in
            var list: [CertificateTopic] = []
            while let node = nodes.next() {
                guard list.count < Self.maximumCount else {
                    throw TrustError(.tooLarge, "The certificate lists more than \(Self.maximumCount) topics.")
                }
                let topic = String(try ASN1UTF8String(derEncoded: node))
                guard let kinds = nodes.next() else {
                    throw TrustError(.malformed, "The certificate lists a topic without a kind.")
                }
                let kind = try DER.sequence(kinds, identifier: .sequence) { try ASN1UTF8String(derEncoded: &$0) }
                list.append(CertificateTopic(topic: topic, kind: String(kind)))
            }
            return list
        }
    }

    func serialize(into coder: inout DER.Serializer, withIdentifier identifier: ASN1Identifier) throws {
        try coder.appendConstructedNode(identifier: identifier) { coder in
            for entry in list {
                try coder.serialize(ASN1UTF8String(entry.topic))
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    try coder.serialize(ASN1UTF8String(entry.kind))
                }
            }
        }
    }
}

extension Certificate.Extension {
    init(_ topics: CertificateTopics) throws {
        var coder = DER.Serializer()
        try coder.serialize(topics)
        self.init(oid: CertificateIdentifiers.topics, critical: false, value: coder.serializedBytes[...])
    }

    /// The marker extension for an environment. A provider certificate with it is valid there. Its value is NULL.
    init(markerFor environment: Environment) throws {
        var coder = DER.Serializer()
        try coder.serialize(ASN1Null())
        self.init(oid: environment.certificateMarker, critical: false, value: coder.serializedBytes[...])
    }
}

extension Environment {
    var certificateMarker: ASN1ObjectIdentifier {
        switch self {
        case .development: CertificateIdentifiers.developmentMarker
        case .production: CertificateIdentifiers.productionMarker
        }
    }
}
