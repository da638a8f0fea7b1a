import Credentials
import Notifications
import SwiftASN1
import X509

/// The role of a client certificate's holder, in an extension of our own, so that a certificate of one role is never
/// accepted for another. The extension is critical in certificates of devices, administrators and nodes, so software that does
/// not know it refuses them. It is not critical in provider certificates, because ordinary tools read them (Guide,
/// 2.3.2). Their intermediate has the same meaning.
enum CertificateRole: Sendable, Hashable {
    case device(DeviceID, Environment)
    case provider
    case administrator
    case node

    /// Whether software that does not know the extension has to refuse the certificate (RFC 5280, 4.2).
    var isCritical: Bool { kind != .provider }

    var kind: PeerRole {
        switch self {
        case .device: .device
        case .provider: .provider
        case .administrator: .administrator
        case .node: .node
        }
    }
}

// Role ::= SEQUENCE {
//     kind         UTF8String,            -- "device", "provider", "administrator" or "node"
//     environment  UTF8String OPTIONAL,   -- both with a device, neither with the others
//     device       UTF8String OPTIONAL }  -- 16 hexadecimal digits
//
// Strings throughout, so that `openssl x509 -text` and `asn1parse` show it readably.
extension CertificateRole: DERImplicitlyTaggable {
    static var defaultIdentifier: ASN1Identifier { .sequence }

    init(derEncoded node: ASN1Node, withIdentifier identifier: ASN1Identifier) throws {
        self = try DER.sequence(node, identifier: identifier) { nodes in
            switch PeerRole(rawValue: String(try ASN1UTF8String(derEncoded: &nodes))) {
            case .provider:
                return .provider
            case .administrator:
                return .administrator
            case .node:
                return .node
            case .device:
                guard let environment = Environment(rawValue: String(try ASN1UTF8String(derEncoded: &nodes))),
                    let device = DeviceID(String(try ASN1UTF8String(derEncoded: &nodes)))
                else { throw TrustError(.malformed, "The role names no device.") }
                return .device(device, environment)
            case nil:
                throw TrustError(.malformed, "The role is unknown.")
            }
        }
    }

    func serialize(into coder: inout DER.Serializer, withIdentifier identifier: ASN1Identifier) throws {
        try coder.appendConstructedNode(identifier: identifier) { coder in
            try coder.serialize(ASN1UTF8String(kind.rawValue))
            if case .device(let device, let environment) = self {
                try coder.serialize(ASN1UTF8String(environment.rawValue))
                try coder.serialize(ASN1UTF8String(device.description))
            }
        }
    }
}

extension Certificate.Extension {
    init(_ role: CertificateRole) throws {
        var coder = DER.Serializer()
        try coder.serialize(role)
        self.init(oid: CertificateIdentifiers.role, critical: role.isCritical, value: coder.serializedBytes[...])
    }
}
