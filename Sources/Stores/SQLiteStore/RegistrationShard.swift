import Delivery
import Notifications

/// A hash table of registrations. Each row takes 40 bytes, and each place, which refers to a row, takes 4 bytes.
///
/// Collisions are resolved by open addressing. The hash depends only on the device, so the apps of one device are
/// next to each other. Ended registrations stay in the table; those of deleted apps are removed.
struct RegistrationShard {
    fileprivate struct Row {
        let device: UInt64
        var tokenSince: UInt64
        var changed: UInt64
        let app: UInt32
        var generation: UInt32
        var tokenKeyID: UInt32
        let environment: Environment
        var isActive: Bool
    }

    private var rows: [Row] = []
    /// For each place, the number of its row, counted from 1; 0 if the place is free. The number of places is a power
    /// of two, and at least a quarter of them is free.
    private var places: [UInt32]

    init(capacity: Int) {
        rows.reserveCapacity(capacity)
        var count = 16
        while count / 4 * 3 < capacity { count *= 2 }
        places = Array(repeating: 0, count: count)
    }

    var count: Int { rows.count }

    func registration(of destination: Destination, hash: UInt64) -> Registration? {
        let place = place(of: destination, hash: hash)
        return places[place] == 0 ? nil : rows[Int(places[place]) - 1].registration  // fits: 32 bits, not 0
    }

    func registrations(of device: DeviceKey, hash: UInt64) -> [AppID: Registration] {
        var registrations: [AppID: Registration] = [:]
        var place = firstPlace(hash)
        while places[place] != 0 {
            let row = rows[Int(places[place]) - 1]  // fits: 32 bits, not 0
            if row.belongs(to: device) { registrations[AppID(rawValue: row.app)] = row.registration }
            place = nextPlace(place)
        }
        return registrations
    }

    mutating func set(_ registration: Registration, of destination: Destination, hash: UInt64) {
        let place = place(of: destination, hash: hash)
        let row = Row(destination, registration)
        guard places[place] == 0 else {
            rows[Int(places[place]) - 1] = row  // fits: 32 bits, not 0
            return
        }
        rows.append(row)
        places[place] = UInt32(rows.count)  // fits: so many rows need 160 GB
        if rows.count > places.count / 4 * 3 { grow() }
        assert(rows.count <= places.count / 4 * 3, "A search for a missing row would not end.")
    }

    // MARK: Removing

    /// Searches backwards from the row `end` for matching rows.
    /// - Returns: at most `limit` destinations, and the row where the search ended. All rows from there on were
    ///   searched.
    func destinations(
        before end: Int,
        limit: Int,
        where condition: (AppID) -> Bool,
    ) -> (found: [Destination], end: Int) {
        var found: [Destination] = []
        var row = min(end, rows.count)
        while row > 0, found.count < limit {
            row -= 1
            if condition(AppID(rawValue: rows[row].app)) { found.append(rows[row].destination) }
        }
        return (found, row)
    }

    /// Removes a row. The last row moves into its place.
    mutating func remove(_ destination: Destination, hash: UInt64) {
        let place = place(of: destination, hash: hash)
        guard places[place] != 0, let last = rows.last else { return }
        let row = Int(places[place]) - 1  // fits: 32 bits, not 0
        let placeOfLast = self.place(of: last.destination, hash: RegistrationTable.hash(last.deviceKey))
        places[placeOfLast] = UInt32(row + 1)  // fits: it was 32 bits
        rows[row] = last
        rows.removeLast()
        close(place)
    }

    /// Frees a place. Other rows may have been placed after it only because it was occupied. They move back, so that
    /// a search for them does not end at the gap.
    private mutating func close(_ place: Int) {
        var gap = place
        places[gap] = 0
        var next = nextPlace(gap)
        while places[next] != 0 {
            // fits: 32 bits, not 0
            let home = firstPlace(RegistrationTable.hash(rows[Int(places[next]) - 1].deviceKey))
            // How far a place is from the first choice of its row, counted forward and around the end.
            let mask = places.count - 1
            if (next - home) & mask >= (next - gap) & mask {
                places[gap] = places[next]
                places[next] = 0
                gap = next
            }
            next = nextPlace(next)
        }
    }

    // MARK: Places

    private func firstPlace(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (places.count - 1) }
    private func nextPlace(_ place: Int) -> Int { (place + 1) & (places.count - 1) }

    /// The place of the destination's row. If there is no such row, the free place where it would be.
    private func place(of destination: Destination, hash: UInt64) -> Int {
        var place = firstPlace(hash)
        while places[place] != 0 {
            let row = rows[Int(places[place]) - 1]  // fits: 32 bits, not 0
            if row.app == destination.app.rawValue, row.belongs(to: destination.deviceKey) { break }
            place = nextPlace(place)
        }
        return place
    }

    private mutating func grow() {
        places = Array(repeating: 0, count: places.count * 2)
        for index in rows.indices {
            var place = firstPlace(RegistrationTable.hash(rows[index].deviceKey))
            while places[place] != 0 { place = nextPlace(place) }
            places[place] = UInt32(index + 1)  // fits: an index of a row, as in set(_:of:hash:)
        }
    }
}

extension RegistrationShard.Row {
    init(_ destination: Destination, _ registration: Registration) {
        device = destination.device.rawValue
        tokenSince = registration.tokenSince.milliseconds
        changed = registration.changed.milliseconds
        app = destination.app.rawValue
        generation = registration.generation
        tokenKeyID = registration.tokenKeyID
        environment = destination.environment
        isActive = registration.isActive
    }

    var deviceKey: DeviceKey { DeviceKey(environment: environment, device: DeviceID(rawValue: device)) }

    var destination: Destination {
        Destination(environment: environment, device: DeviceID(rawValue: device), app: AppID(rawValue: app))
    }

    func belongs(to key: DeviceKey) -> Bool { device == key.device.rawValue && environment == key.environment }

    var registration: Registration {
        Registration(
            generation: generation,
            tokenKeyID: tokenKeyID,
            tokenSince: Timestamp(milliseconds: tokenSince),
            isActive: isActive,
            changed: Timestamp(milliseconds: changed),
        )
    }
}
