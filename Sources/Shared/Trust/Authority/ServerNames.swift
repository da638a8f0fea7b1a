import Credentials
import Notifications
import SwiftASN1
import X509

/// The names and addresses in a server's certificate.
enum ServerNames {
    /// The largest number of names. The certificate is sent in every handshake, and a machine has only a few names.
    static let maximumCount = 100

    /// The names of the machine itself, which every server certificate contains.
    static let local = ["localhost", "127.0.0.1", "::1"]

    /// ``local`` and the given names, each a host name or an IP address, without duplicates.
    /// - Parameter isLocal: whether to add ``local``.
    static func alternativeNames(_ names: [String], isLocal: Bool = true) throws(TrustError) -> SubjectAlternativeNames
    {
        guard names.count <= maximumCount else {
            throw TrustError(.tooLarge, "A server certificate takes at most \(maximumCount) names.")
        }
        var list: [GeneralName] = []
        for name in (isLocal ? local : []) + names {
            let entry = try generalName(name)
            if !list.contains(entry) { list.append(entry) }
        }
        return SubjectAlternativeNames(list)
    }

    private static func generalName(_ name: String) throws(TrustError) -> GeneralName {
        if let address = IPAddress(name) {
            return .ipAddress(ASN1OctetString(contentBytes: address.bytes[...]))
        }
        guard isHostName(name.utf8) else {
            throw TrustError(.badName, "\(name.debugDescription.prefix(100)) is neither a host name nor an IP address.")
        }
        return .dnsName(name.lowercased())
    }

    /// Whether the name is a host name (RFC 1123, 2.1). Underscores are allowed, because many names have them, and so is
    /// `*` as the first label (RFC 9525, 6.3).
    private static func isHostName(_ name: String.UTF8View) -> Bool {
        guard (1...253).contains(name.count) else { return false }
        var labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)[...]
        if labels.count > 2, labels.first?.elementsEqual("*".utf8) == true { labels.removeFirst() }
        // Some software would read a name that ends in a number as an IP address.
        guard let last = labels.last, !last.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
        return labels.allSatisfy { label in
            (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                && label.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        }
    }
}
