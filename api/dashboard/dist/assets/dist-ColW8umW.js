<<<<<<< HEAD:api/dashboard/dist/assets/dist-CjDhpWul.js
<<<<<<<< HEAD:api/dashboard/dist/assets/dist-BmofDcc5.js
import{R as e,V as t}from"./clsx-Bm07YZi-.js";import{Z as n}from"./index-D1QPZfY-.js";var r=t(e(),1),i=Object.defineProperty,a=(e,t)=>i(e,`name`,{value:t,configurable:!0}),o=r.useId||(()=>void 0),s=0;function c(e){let[t,i]=r.useState(o());return n(()=>{e||i(e=>e??String(s++))},[e]),e||(t?`radix-${t}`:``)}a(c,`useId`);export{c as t};
========
import{H as e,z as t}from"./clsx-zbEn8Z5x.js";import{q as n}from"./index-ByF-kTa0.js";var r=e(t(),1),i=Object.defineProperty,a=(e,t)=>i(e,`name`,{value:t,configurable:!0}),o=r.useId||(()=>void 0),s=0;function c(e){let[t,i]=r.useState(o());return n(()=>{e||i(e=>e??String(s++))},[e]),e||(t?`radix-${t}`:``)}a(c,`useId`);export{c as t};
>>>>>>>> pages:api/dashboard/dist/assets/dist-CjDhpWul.js
=======
import{H as e,z as t}from"./clsx-zbEn8Z5x.js";import{q as n}from"./index-FqK6tlI_.js";var r=e(t(),1),i=Object.defineProperty,a=(e,t)=>i(e,`name`,{value:t,configurable:!0}),o=r.useId||(()=>void 0),s=0;function c(e){let[t,i]=r.useState(o());return n(()=>{e||i(e=>e??String(s++))},[e]),e||(t?`radix-${t}`:``)}a(c,`useId`);export{c as t};
>>>>>>> pages:api/dashboard/dist/assets/dist-ColW8umW.js
