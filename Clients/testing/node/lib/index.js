// Carillon in a test suite: a push notification service that speaks APNs' protocols.

export { Carillon, team } from './service.js';
export { CarillonError, WaitTimeout } from './errors.js';
export { ExactNumber } from './exactjson.js';
export { Clock, Device, Rehearsal, Subscription, Team } from './team.js';
