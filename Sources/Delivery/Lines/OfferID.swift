/// Names an offer, in the whole cluster and for good: a late acknowledgement must never mean another offer.
package struct OfferID: Sendable, Hashable {
    /// Who made it.
    package let origin: OfferOrigin
    /// Unique to its origin. An origin's offers to the same device have growing numbers, in the order of acceptance;
    /// numbers of different origins have no order.
    package let number: UInt64

    package init(origin: OfferOrigin, number: UInt64) {
        self.origin = origin
        self.number = number
    }
}

/// One start of one node: whoever makes offers. After a restart it is another one.
package struct OfferOrigin: Sendable, Hashable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// A new one. Of a thousand nodes that start a thousand times each, two have the same one with a chance of 1 in 37
    /// million.
    package static func random(using generator: inout some RandomNumberGenerator) -> OfferOrigin {
        OfferOrigin(rawValue: generator.next())
    }
}

/// Gives out the names of the offers of one part of a process.
struct OfferNames {
    let origin: OfferOrigin
    private var last: UInt64
    private let parts: UInt64

    /// - Parameters:
    ///   - part: counted from 0; the parts of a process never give out the same number.
    ///   - parts: how many there are.
    init(origin: OfferOrigin, part: Int = 0, of parts: Int = 1) {
        self.origin = origin
        last = UInt64(part)
        self.parts = UInt64(parts)
    }

    /// The next one, whose number is greater than that of any before.
    mutating func next() -> OfferID {
        last &+= parts
        return OfferID(origin: origin, number: last)
    }
}
