import Notifications

/// The valid provider tokens, so that each is verified once. When the memory is full, the oldest is forgotten.
///
/// A token is found by a hash of its bytes and then compared in full, so a hash alone never authorises a request.
/// Invalid tokens are not remembered, so only the holder of a key can fill the memory, and only with its own tokens.
struct ProviderTokenMemory: Sendable {
    private struct Entry {
        var hash: UInt64
        var token: [UInt8]
        var verified: VerifiedProviderToken
    }

    /// The largest number of tokens.
    let capacity: Int
    /// A random start value of the hash, so that nobody can choose tokens with equal hashes.
    let seed: UInt64
    /// The tokens in the order in which they were added. When there are `capacity` of them, the oldest is replaced by
    /// the next (a ring).
    private var entries: [Entry?] = []
    /// The index of the next entry in a full ring.
    private var oldest = 0
    /// For each hash, the place of its token. If two tokens have the same hash, the later one is remembered.
    private var places: [UInt64: Int] = [:]

    init(capacity: Int, using generator: inout some RandomNumberGenerator) {
        self.capacity = max(1, capacity)
        seed = generator.next()
    }

    /// The number of remembered tokens.
    var count: Int { places.count }

    func recall(_ token: Span<UInt8>) -> VerifiedProviderToken? {
        guard let place = places[hash(token)], let entry = entries[place], Self.areEqual(entry.token.span, token) else {
            return nil
        }
        return entry.verified
    }

    /// - Returns: Whether the oldest token was forgotten to make room.
    @discardableResult
    mutating func remember(_ token: Span<UInt8>, as verified: VerifiedProviderToken) -> Bool {
        let hash = hash(token)
        let entry = Entry(hash: hash, token: token.array, verified: verified)
        if let place = places[hash] {
            entries[place] = entry
        } else if entries.count < capacity {
            places[hash] = entries.count
            entries.append(entry)
        } else {
            let forgotten = entries[oldest]
            if let forgotten { places[forgotten.hash] = nil }
            places[hash] = oldest
            entries[oldest] = entry
            oldest = (oldest + 1) % capacity
            return forgotten != nil
        }
        return false
    }

    mutating func forget(key: KeyID) {
        for place in entries.indices {
            guard let entry = entries[place], entry.verified.key == key else { continue }
            places[entry.hash] = nil
            entries[place] = nil
        }
    }

    /// Hashes eight bytes at a time, with a multiplication to 128 bits. The hash only finds a place, so it has to be
    /// fast (some tens of nanoseconds) and need not be cryptographic.
    private func hash(_ token: Span<UInt8>) -> UInt64 {
        var state = seed ^ UInt64(truncatingIfNeeded: token.count)
        Self.forEachWord(of: token) { word in
            state = Self.mixed(state, word)
        }
        return state
    }

    static func mixed(_ state: UInt64, _ word: UInt64) -> UInt64 {
        let product = (state ^ word).multipliedFullWidth(by: 0x9e37_79b9_7f4a_7c15)
        return product.high ^ product.low
    }

    /// Compares all bytes, so that the time does not show where they differ.
    private static func areEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt64 = 0
        let (leftBytes, rightBytes) = (left.bytes, right.bytes)
        var offset = 0
        while offset + 8 <= leftBytes.byteCount {
            difference |=
                leftBytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
                ^ rightBytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < left.count {
            difference |= UInt64(left[offset] ^ right[offset])  // fits: a byte
            offset += 1
        }
        return difference == 0
    }

    /// Zeros are added to the last word.
    @inline(__always)
    private static func forEachWord(of token: Span<UInt8>, _ body: (UInt64) -> Void) {
        let bytes = token.bytes
        var offset = 0
        while offset + 8 <= bytes.byteCount {
            // Any eight bytes are a valid UInt64, and the range is checked.
            body(bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        guard offset < token.count else { return }
        var last: UInt64 = 0
        while offset < token.count {
            last = last << 8 | UInt64(token[offset])  // fits: a byte
            offset += 1
        }
        body(last)
    }
}
