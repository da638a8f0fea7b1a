import Dispatch
import Matching
import Rehearsals

/// What the service has for tests, in the development environment only.
struct ServiceTesting {
    let rehearsals: RehearsalDirector
    /// The gateways' way to it.
    let watch: RequestWatch

    init() {
        rehearsals = RehearsalDirector(next: RequestCounter()) {
            .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds))
        }
        watch = RequestWatch(rehearsals)
        rehearsals.direct(watch)
    }
}
