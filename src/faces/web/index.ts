// web: the pages, in the order of the navigation. In: the ports. Out: what the endpoint mounts beside its API. Every page is written on
// the server and works without JavaScript; each change is a form that leads to the page that shows it.
import type { HttpDeps } from '../http/deps.ts';
import type { Pages } from '../http/route.ts';
import { answerPage, problemPage } from './answer.tsx';
import { assetRoutes } from './assets.ts';
import { auditPages } from './pages/audit.tsx';
import { docsPages } from './pages/docs.tsx';
import { requestPages } from './pages/exemption-requests.tsx';
import { exemptionPages } from './pages/exemptions.tsx';
import { fleetPages } from './pages/fleet.tsx';
import { guidePages } from './pages/guide.tsx';
import { healthPages } from './pages/health.tsx';
import { inForcePages } from './pages/in-force.tsx';
import { inboxPages } from './pages/inbox.tsx';
import { overviewPages } from './pages/overview.tsx';
import { passkeyPages } from './pages/passkeys.tsx';
import { planPages } from './pages/plan.tsx';
import { plansPages, runsPages } from './pages/plans.tsx';
import { replayPages, rulePages } from './pages/rule.tsx';
import { rulesPages } from './pages/rules.tsx';
import { runPages } from './pages/run.tsx';
import { signInPages } from './pages/sign-in.tsx';
import { subjectPages } from './pages/subject.tsx';
import { searchPages, tokenPages } from './pages/tokens.tsx';
import { tryPages } from './pages/try.tsx';

export function createPages(deps: HttpDeps): Pages {
  return {
    routes: [
      ...assetRoutes(),
      ...signInPages({
        signInAt: () => deps.signIn,
        opensByCommand: deps.isDaemon && deps.signIn.hasLinks,
        answer: (context, content) => answerPage(deps, context, content),
      }),
      ...overviewPages(deps),
      ...inboxPages(deps),
      ...searchPages(deps),
      ...fleetPages(deps),
      ...subjectPages(deps),
      ...runsPages(deps),
      ...runPages(deps),
      ...plansPages(deps),
      ...planPages(deps),
      ...inForcePages(deps),
      ...exemptionPages(deps),
      ...requestPages(deps),
      ...auditPages(deps),
      ...healthPages(deps),
      ...tokenPages(deps),
      ...passkeyPages(deps),
      ...docsPages(deps),
      ...guidePages(deps),
      ...rulesPages(deps),
      ...rulePages(deps),
      ...tryPages(deps),
      ...replayPages(deps),
    ],
    problem: (problem, context) => problemPage(deps, problem, context),
  };
}
