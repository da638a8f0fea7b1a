import Delivery
import Notifications
import Testing

@testable import SQLiteStore

@Suite("The table of registrations")
struct RegistrationTableTests {
    private func registration(_ generation: UInt32) -> Registration {
        Registration(firstSealedWith: generation, at: Example.moment)
    }

    @Test("A table that grows from nothing finds everything again")
    func grows() {
        let table = RegistrationTable()
        let destinations = (0..<20_000 as Range<UInt64>).map { Example.destination($0 / 3, app: UInt32($0 % 3)) }
        for (index, destination) in destinations.enumerated() {
            table.set(registration(UInt32(index)), of: destination)
        }
        #expect(table.count == destinations.count)
        let found = destinations.indices.allSatisfy { table[destinations[$0]] == registration(UInt32($0)) }
        #expect(found)
    }

    @Test("Setting again replaces")
    func replaces() {
        let table = RegistrationTable()
        for keyID in 1...3 as ClosedRange<UInt32> { table.set(registration(keyID), of: Example.destination()) }
        #expect(table.count == 1)
        #expect(table[Example.destination()] == registration(3))
    }

    @Test("A device has its own apps, however many")
    func device() {
        let table = RegistrationTable()
        for app in 0..<300 as Range<UInt32> {
            table.set(registration(app), of: Example.destination(1, app: app))
            table.set(registration(app), of: Example.destination(UInt64(app) + 2, app: 7))
        }
        let registrations = table.registrations(of: Example.destination(1).deviceKey)
        #expect(registrations.count == 300)
        #expect(registrations[AppID(rawValue: 299)] == registration(299))
    }

    @Test("The last generation is not followed by the first")
    func lastGeneration() {
        var registration = registration(1)
        registration.generation = .max
        let isRenewed = registration.renewToken(tokenKeyID: 2, at: Example.moment)
        #expect(!isRenewed)
        #expect(registration.generation == .max)
    }
}
